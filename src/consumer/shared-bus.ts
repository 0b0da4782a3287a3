import type { Bus } from '../bus/port.ts'

/** A bus that is open while somebody uses it. */
export class SharedBus {
  readonly #open: () => Promise<Bus>
  readonly #close: (bus: Bus) => Promise<void>
  #bus: Promise<Bus> | null = null
  #users = 0

  constructor(open: () => Promise<Bus>, close: (bus: Bus) => Promise<void>) {
    this.#open = open
    this.#close = close
  }

  async use(work: (bus: Bus) => Promise<void>): Promise<void> {
    this.#bus ??= this.#open()
    const opened = this.#bus
    this.#users++
    try {
      await work(await opened)
    } finally {
      this.#users--
      if (this.#users === 0) {
        this.#bus = null
        await opened.then(this.#close, () => {})
      }
    }
  }
}
