import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { type Bus, createWorker, openBus, type Settings, type Worker } from 'busgate'
import { type CommandProducer, createProducer, type NewCommand } from 'busgate/producer'

/** Sends through busgate, with the worker inside. */
@Injectable()
export class Messages implements OnApplicationShutdown {
  private constructor(
    private readonly bus: Bus,
    private readonly worker: Worker,
    private readonly producer: CommandProducer,
  ) {}

  /** Waits for brokers, registry and gateway as long as it takes. */
  static async open(settings: Settings): Promise<Messages> {
    const bus = await openBus(settings)
    const worker = await createWorker(settings, { bus, logger })
    worker.failed.catch(() => {
      process.exitCode = 1 // so that a supervisor restarts it
      process.kill(process.pid, 'SIGTERM') // Nest shuts down
    })
    return new Messages(bus, worker, await createProducer(settings, { bus }))
  }

  health() {
    const { ready, reasons } = this.worker.ready()
    return { ready, reasons }
  }

  /** Sends a message, and waits for its final result. */
  async send(command: NewCommand) {
    const [sent] = await this.producer.send([command])
    const { outcome, errorCode } = await sent.result({ signal: AbortSignal.timeout(30_000) })
    return { outcome, errorCode }
  }

  /** Finishes and commits what is in flight. */
  async onApplicationShutdown(): Promise<void> {
    await this.producer.close()
    await this.worker.close()
    await this.bus.close()
  }
}

const nest = new Logger('busgate')
const to = (method: 'fatal' | 'error' | 'warn' | 'log' | 'debug' | 'verbose') => (fields: object, msg: string) =>
  nest[method]({ msg, ...fields })
const logger = {
  ...{ fatal: to('fatal'), error: to('error'), warn: to('warn') },
  ...{ info: to('log'), debug: to('debug'), trace: to('verbose') },
}
