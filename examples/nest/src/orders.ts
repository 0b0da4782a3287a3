import {
  BadRequestException,
  Body,
  Controller,
  type DynamicModule,
  Get,
  Module,
  Param,
  Post,
  ServiceUnavailableException,
} from '@nestjs/common'
import type { Settings } from 'busgate'
import { toPhone } from 'busgate/producer'
import { Messages } from './messages.js'

@Controller()
export class Orders {
  constructor(private readonly messages: Messages) {}

  @Get('health')
  health() {
    const health = this.messages.health()
    if (!health.ready) throw new ServiceUnavailableException(health)
    return health
  }

  @Post('orders/:id/ready')
  async ready(@Param('id') id: string, @Body() body: { phone: string }) {
    const phone = toPhone(body.phone, 'UA')
    if (phone === null) throw new BadRequestException('phone must be a phone number')
    const message = { sms_signature: 'Shop', sms_message: 'Your order is ready' }
    // one message an order, however often this is posted
    return await this.messages.send({ id: BigInt(id), phone, type: 'sms', message })
  }
}

@Module({ controllers: [Orders] })
class OrdersModule {}

export function ordersWith(settings: Settings): DynamicModule {
  const messages = { provide: Messages, useFactory: () => Messages.open(settings) }
  return { module: OrdersModule, providers: [messages] }
}
