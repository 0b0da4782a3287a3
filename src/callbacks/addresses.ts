import { BlockList, isIP, isIPv6 } from 'node:net'

/** Trusts says whether a proxy at this address is believed about who its clients are. */
export type Trusts = (address: string) => boolean

/** @param ranges addresses, or ranges such as 10.0.0.0/8 */
export function trustIn(ranges: readonly string[]): Trusts {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return address => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/**
 * The last address in X-Forwarded-For that no trusted proxy has, for only what these wrote can be believed. Null when there
 * is none, or when something else stands in its place.
 */
export function forwardedFor(header: string | string[] | undefined, trusts: Trusts): string | null {
  const hops = String(header ?? '').split(',')
  for (const hop of hops.toReversed()) {
    const address = withoutPort(hop.trim())
    if (isIP(address) === 0) return null
    if (!trusts(address)) return address
  }
  return null
}

/**
 * Whom an address is counted for: an IPv4 address that is written as one of IPv6 for itself, and the 2^64 of an IPv6
 * network, which belong to one customer, for one.
 */
export function senderAt(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  return networkOf(address)
}

/** The first four groups of an IPv6 address, which `::` may leave out. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const left = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array<string>(Math.max(0, left)).fill('0'), ...after]
  return groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Some proxies write the port, too. */
function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
