import { type DoubtCause, doubtCauses } from '../../protocol/index.ts'
import type { DoubtWriter } from '../../records/doubt.ts'
import type { ResultDetails, WriteResult } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { end, type Pending } from '../pending.ts'
import type { ResultTally } from './result-tally.ts'

/** Settles commands on their sessions: with a result, or by moving them to the doubts. */
export class Outbox {
  readonly #writeResult: WriteResult
  readonly #doubts: DoubtWriter
  readonly #telemetry: Telemetry

  constructor(writeResult: WriteResult, doubts: DoubtWriter, telemetry: Telemetry) {
    this.#writeResult = writeResult
    this.#doubts = doubts
    this.#telemetry = telemetry
  }

  settle(pending: Pending, details: ResultDetails, tally: ResultTally): void {
    const { command, session, offset, origin, doubted } = pending
    session.settle(offset, [this.#writeResult(command, origin, details)])
    tally.add(command.type, details.outcome, details.errorCode ?? null)
    if (doubted) this.#telemetry.emit('doubt.resolved', { outcome: details.outcome })
    end(pending)
  }

  /**
   * Nobody can tell: the command moves to the doubts, and its producer hears so the first time.
   * @param postedAt when its POST can have begun at the latest
   */
  doubt(pending: Pending, postedAt: number, cause: DoubtCause, tally: ResultTally): void {
    const { command, session, offset, origin, doubted, attempts } = pending
    const records = [this.#doubts.write(pending, postedAt, cause)]
    if (!doubted) {
      const error = doubtCauses[cause]
      const details: ResultDetails = {
        outcome: 'IN_DOUBT',
        attempts: attempts + 1,
        errorCode: 'RESPONSE_LOST',
        error,
        sentAt: postedAt,
      }
      records.push(this.#writeResult(command, origin, details))
      tally.add(command.type, 'IN_DOUBT', 'RESPONSE_LOST')
    }
    session.settle(offset, records)
    tally.addDoubt(cause)
    end(pending)
  }
}
