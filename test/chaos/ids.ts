/** Commands have consecutive ids from here on; the policy alternates, so that both are hit by every fault. */
const firstId = 20_000_000_000

export const idOf = (index: number): number => firstId + index
export const indexOf = (id: bigint): number => Number(id) - firstId
export const policyOf = (index: number) => (index % 2 === 0 ? 'AT_MOST_ONCE' : 'AT_LEAST_ONCE')
