import { createWorker, openBus, type Settings } from 'busgate'
import { createProducer, toPhone } from 'busgate/producer'
import { fastify } from 'fastify'

/** A service that sends through busgate, with the worker inside. Closing it stops the worker. */
export function buildService(settings: Settings, signal?: AbortSignal) {
  const service = fastify({ logger: true, pluginTimeout: 0 })
  service.register(async () => {
    const bus = await openBus(settings)
    service.addHook('onClose', () => bus.close())
    // Waits for brokers, registry and gateway as long as it takes, or until the signal.
    const worker = await createWorker(settings, { bus, logger: service.log, ...(signal && { signal }) })
    service.addHook('onClose', () => worker.close()) // before the bus: the last hook runs first
    worker.failed.catch(() => {
      process.exitCode = 1 // so that a supervisor restarts it
      void service.close()
    })
    const producer = await createProducer(settings, { bus })
    service.addHook('onClose', () => producer.close())

    service.get('/health', (_request, reply) => {
      const { ready, reasons } = worker.ready()
      return reply.code(ready ? 200 : 503).send({ ready, reasons })
    })

    service.post<{ Params: { id: string }; Body: { phone: string } }>('/orders/:id/ready', async (request, reply) => {
      const phone = toPhone(request.body.phone, 'UA')
      if (phone === null) return reply.code(400).send({ error: 'phone must be a phone number' })
      const message = { sms_signature: 'Shop', sms_message: 'Your order is ready' }
      const id = BigInt(request.params.id) // one message an order, however often this is posted
      const [sent] = await producer.send([{ id, phone, type: 'sms', message }])
      const { outcome, errorCode } = await sent.result({ signal: AbortSignal.timeout(30_000) })
      return { outcome, errorCode }
    })
  })
  return service
}
