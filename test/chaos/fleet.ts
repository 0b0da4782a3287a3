import { join } from 'node:path'
import { startChild } from '../../src/cli/local-kafka/child.ts'

export interface Member {
  name: string
  /** As kill -9. */
  kill(): Promise<void>
  /** SIGTERM; resolves when it has left. @throws Error when it did not exit with 0 */
  leave(): Promise<void>
  freeze(): void
  thaw(): void
}

/** Worker processes that come and go. One that ends by itself is started again, as its supervisor would. */
export class Fleet {
  readonly members = new Set<Member>()
  /** Ends that nobody had asked for. */
  restarts = 0
  readonly #env: Record<string, string>
  readonly #folder: string
  #count = 0
  #closing = false

  constructor(env: Record<string, string>, folder: string) {
    this.#env = env
    this.#folder = folder
  }

  start(): Member {
    const name = `worker-${++this.#count}`
    const child = startChild(process.execPath, ['src/cli/main.ts', 'run'], {
      cwd: process.cwd(),
      env: { ...process.env, ...this.#env },
      logFile: join(this.#folder, `${name}.log`),
    })
    let asked = false
    const member: Member = {
      name,
      kill: async () => {
        asked = true
        child.signal('SIGKILL')
        await child.ended
      },
      leave: async () => {
        asked = true
        child.signal('SIGTERM')
        const { ok, how } = await child.ended
        const beforeItsHandlers = how === 'was ended by SIGTERM' // it had hardly begun
        if (!ok && !beforeItsHandlers) throw new Error(`${name} ${how} when it was told to leave:\n${child.tail()}`)
      },
      freeze: () => child.signal('SIGSTOP'),
      thaw: () => child.signal('SIGCONT'),
    }
    this.members.add(member)
    void child.ended.then(() => {
      this.members.delete(member)
      if (asked || this.#closing) return
      this.restarts++
      this.start()
    })
    return member
  }

  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.members].map(member => member.kill()))
  }
}
