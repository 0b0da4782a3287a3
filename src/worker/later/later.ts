import type { Session } from '../../bus/port.ts'
import { end, type Pending } from '../pending.ts'
import { ControlNames } from './names.ts'
import { Rows } from './rows.ts'
import { waitOf } from './wait.ts'
import { type WaitingOptions, WaitingPartition } from './waiting-partition.ts'

export interface LaterOptions extends Omit<WaitingOptions, 'rows' | 'names'> {
  accounts: ReadonlyMap<string, unknown>
  maxAgeMs: number
}

/** The commands that wait for their time, or for the end of a pause, of all partitions of this process. */
export class Later {
  readonly #options: WaitingOptions & Pick<LaterOptions, 'maxAgeMs'>
  readonly #partitions = new Map<Session, WaitingPartition>()
  #isChanged = false
  #cancel = () => {}

  constructor(options: LaterOptions) {
    const rows = new Rows(options.accounts.keys())
    const names = new ControlNames(rows)
    this.#options = { ...options, rows, names }
    names.update(options.controls)
    options.controls.onChange(() => this.#changeSoon())
  }

  /** Reads what waits on the partition. @throws Error when the table cannot be read */
  async opening(session: Session): Promise<void> {
    const partition = await WaitingPartition.open(session, this.#options)
    if (session.alive) this.#partitions.set(session, partition)
    else partition.close()
  }

  of(session: Session): WaitingPartition {
    return this.#partitions.get(session)!
  }

  /** The offset after the session's last record that is known to have been moved to the table; 0 if none is. */
  movedUntil(session: Session): number {
    return this.#partitions.get(session)?.movedUntil ?? 0
  }

  /** Lets queued commands wait for the end of a pause. */
  setAside(pendings: readonly Pending[]): void {
    for (const pending of pendings) {
      this.#partitions.get(pending.session)?.wait(pending.offset, pending, ...waitOf(pending, this.#options.maxAgeMs))
      end(pending)
    }
  }

  resumed(session: Session): void {
    this.#partitions.get(session)?.resumed()
  }

  closed(session: Session): void {
    this.#partitions.get(session)?.close()
    this.#partitions.delete(session)
  }

  stop(): void {
    this.#cancel()
    for (const session of [...this.#partitions.keys()]) this.closed(session)
  }

  /** Once for many changes: each time all names are computed anew. */
  #changeSoon(): void {
    if (this.#isChanged) return
    this.#isChanged = true
    this.#cancel = this.#options.clock.after(0, () => {
      this.#isChanged = false
      const { names, controls } = this.#options
      const isPauseChanged = names.update(controls)
      for (const partition of this.#partitions.values()) partition.controlsChanged(isPauseChanged)
    })
  }
}
