import type { Sandbox } from '../../src/sandbox/index.ts'
import type { LocalKafka } from '../support/local-kafka/kafka.ts'
import type { WireTap } from '../support/wire-tap.ts'
import type { Fleet } from './fleet.ts'
import type { Rights } from './rights.ts'

/** Everything that can be troubled. */
export interface Scene {
  fleet: Fleet
  kafka: LocalKafka
  nodes: number
  /** One before each node. */
  taps: readonly WireTap[]
  rights: Rights
  sandbox: Sandbox
  /** 0 to 1, seeded. */
  random: () => number
  say: (line: string) => void
}

/** Makes trouble once and resolves when it is over. */
export type Fault = (scene: Scene) => Promise<void>

/** How many processes there are while nothing happens. */
export const workers = 3

export const between = ({ random }: Scene, least: number, most: number) => least + random() * (most - least)
export const oneOf = <T>({ random }: Scene, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** mulberry32 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
