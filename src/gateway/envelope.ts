/** Writes an envelope from operations that are text already: nothing is serialised twice. */
export function envelopeBody(apiKey: string, operations: readonly string[]): string {
  return `{"auth":${JSON.stringify(apiKey)},"data":[${operations.join(',')}]}`
}

const emptyEnvelope = envelopeBody('', []).length - JSON.stringify('').length

/** Bytes of an envelope around its operations, commas left out. */
export function envelopeOverhead(apiKey: string): number {
  return emptyEnvelope + Buffer.byteLength(JSON.stringify(apiKey))
}
