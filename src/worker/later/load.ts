import type { Session } from '../../bus/port.ts'
import { type Clock, skewMs } from '../../clock.ts'
import { keyText, type LaterEntry } from '../../records/later.ts'
import type { Rows } from './rows.ts'
import type { LaterTable } from './table.ts'
import { nothing, type Placement } from './table-place.ts'
import { WaitingRows } from './waiting-rows.ts'

/** What waits of one partition, and where on the table. */
export interface Loaded extends Placement {
  rows: WaitingRows
  /** Where commands waited on another table, which the last owner had; null if none did. */
  replaced: Pick<Placement, 'partition' | 'low'> | null
}

export interface LoadOptions {
  table: LaterTable
  rows: Rows
  clock: Clock
}

/** Reads what waits of a partition, from where its last owner says. @throws Error when the table cannot be read */
export async function load(session: Session, { table, rows: all, clock }: LoadOptions): Promise<Loaded> {
  const identity = await table.identity(0)
  const rows = new WaitingRows(session, all)
  const usual = table.partitionFor(session)
  // what is remembered of another table says nothing of this one
  const [of, ...memo] = session.memo?.split(':') ?? []
  const [known, from] = of === identity ? memo : []
  const waitedElsewhere = of !== undefined && of !== identity && memo[0] !== nothing
  const replaced = waitedElsewhere ? { partition: Number(memo[0]), low: Number(memo[1]) } : null
  if (known === nothing) return { rows, identity, partition: usual, strays: new Map(), low: 0, replaced }
  const low = Number(from ?? 0)
  let partition = known === undefined ? null : Number(known)
  const strays = new Map<string, number>()
  let damagedAt = -1
  const take = (entry: LaterEntry | null, place: { partition: number; offset: number }) => {
    if (!entry) {
      damagedAt = Math.max(damagedAt, place.offset)
      return
    }
    if (entry.state !== 'over') partition ??= place.partition
    if (entry.state === 'over') strays.delete(keyText(entry.key))
    else if (place.partition !== partition) strays.set(keyText(entry.key), place.partition)
    rows.load(entry, place.offset)
  }
  try {
    await table.read(session, partition, low, take)
    if ((await table.identity(0)) !== identity) throw new Error(`${table.topic} was made anew while it was read`)
  } catch (error) {
    rows.clear()
    throw error
  }
  if (damagedAt >= 0) rows.doubt(damagedAt, clock.now() + skewMs)
  return { rows, identity, partition: partition ?? usual, strays, low, replaced }
}
