/** Writes an envelope from operations that are text already: nothing is serialised twice. */
export function envelopeBody(apiKey: string, operations: readonly string[]): string {
  return `{"auth":${JSON.stringify(apiKey)},"data":[${operations.join(',')}]}`
}

/** Bytes of an envelope around its operations, commas left out. */
export function envelopeOverhead(apiKey: string): number {
  return Buffer.byteLength(envelopeBody(apiKey, []))
}
