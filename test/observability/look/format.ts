/** A value as Grafana writes it, roughly. */
export function format(value: number, unit = 'short'): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '–' : '∞'
  if (unit === 'percentunit') return `${rounded(value * 100)} %`
  if (unit === 's') return seconds(value)
  if (unit === 'dtdurations') return duration(value)
  if (unit === 'bytes') return scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB'])
  if (unit === 'ops') return `${scaled(value, 1000, ['', 'K', 'M'])} ops/s`
  if (unit.startsWith('suffix:')) return `${rounded(value)} ${unit.slice(7)}`
  return scaled(value, 1000, ['', 'K', 'Mil', 'Bil'])
}

function seconds(value: number): string {
  if (value === 0) return '0 s'
  if (Math.abs(value) < 1) return `${rounded(value * 1000)} ms`
  return Math.abs(value) < 120 ? `${rounded(value)} s` : duration(value)
}

function duration(value: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const
  const [name, size] = units.find(([, size]) => Math.abs(value) >= size) ?? units[3]
  return `${rounded(value / size)} ${name}`
}

function scaled(value: number, base: number, names: readonly string[]): string {
  let scale = 0
  let rest = value
  while (Math.abs(rest) >= base && scale < names.length - 1) {
    rest /= base
    scale++
  }
  return `${rounded(rest)}${names[scale] ? ` ${names[scale]}` : ''}`
}

function rounded(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return String(Number(value.toFixed(digits)))
}

export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, sign => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!)
