// node dist/main.js. Settings: BUSGATE_… variables, as for `busgate run`.
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { loadSettings } from 'busgate'
import { ordersWith } from './orders.js'

const app = await NestFactory.create(ordersWith(loadSettings({ env: process.env })))
app.enableShutdownHooks()
await app.listen(Number(process.env.PORT ?? 3000))
