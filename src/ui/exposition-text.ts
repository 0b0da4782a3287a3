/** One number of a page in Prometheus' text format. */
export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)/
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g
const escapes: Record<string, string> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' }

/** The samples of those metrics, from a page in the text format of Prometheus; what is no sample is passed over. */
export function samplesIn(text: string, names: ReadonlySet<string>): Sample[] {
  return text.split('\n').flatMap(one => {
    const [, name = '', labels = '', value = ''] = line.exec(one) ?? []
    if (!names.has(name)) return []
    const pairs = [...labels.matchAll(label)].map(([, key = '', given = '']) => [
      key,
      given.replaceAll(/\\[n"\\]/g, pair => escapes[pair] ?? pair),
    ])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}
