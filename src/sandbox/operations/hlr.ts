import type { Gateway, GivenOperation } from '../gateway.ts'

const networks = [
  { name: 'Kyivstar', prefix: 38067, mccmnc: 25503 },
  { name: 'Vodafone', prefix: 38050, mccmnc: 25501 },
  { name: 'lifecell', prefix: 38063, mccmnc: 25506 },
] as const

const country = { name: 'Ukraine', prefix: 380 }

/** Looks a phone up, with the same answer each time. */
export function lookUp({ phone }: GivenOperation, status: string, { chance }: Gateway): string {
  const origin = pick(chance('origin', phone))
  const ported = chance('ported', phone) < 0.2
  const current = ported ? pick(chance('network', phone)) : origin
  return JSON.stringify({
    phone: Number(phone),
    status,
    imsi: current.mccmnc * 1e10 + Math.floor(chance('imsi', phone) * 1e10),
    mccmnc: current.mccmnc,
    ported: current !== origin,
    network: { origin: recordOf(origin), ported: recordOf(current) },
  })
}

function pick(chance: number) {
  return networks[Math.floor(chance * networks.length)]!
}

function recordOf({ name, prefix }: (typeof networks)[number]) {
  return { name, prefix, country }
}
