/** Writes an envelope from operations that are text already: nothing is serialised twice. */
export function envelopeBody(apiKey: string, operations: readonly string[]): string {
  const texts = [...operations]
  texts[0] = `{"auth":${JSON.stringify(apiKey)},"data":[${texts[0] ?? ''}`
  texts[texts.length - 1] += ']}'
  return texts.join(',') // a template around it would be copied once more
}

const emptyEnvelope = envelopeBody('', []).length - JSON.stringify('').length

/** Bytes of an envelope around its operations, commas left out. */
export function envelopeOverhead(apiKey: string): number {
  return emptyEnvelope + Buffer.byteLength(JSON.stringify(apiKey))
}
