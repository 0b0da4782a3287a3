// node main.ts. Settings: BUSGATE_… variables, as for `busgate run`.
import { loadSettings } from 'busgate'
import { buildService } from './service.ts'

const stop = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
const service = buildService(loadSettings({ env: process.env }), stop.signal)
stop.signal.addEventListener('abort', () => void service.close()) // finishes and commits what is in flight
await service.listen({ port: Number(process.env.PORT ?? 3000), host: '::' }).catch(error => {
  if (!stop.signal.aborted) throw error
})
