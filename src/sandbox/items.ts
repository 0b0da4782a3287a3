/** Response items are built as JSON texts: the envelope only joins them. */

/** @param data JSON text of the payload. */
export function accepted(data: string): string {
  return `{"success":true,"data":${data}}`
}

/** @param id JSON text of the caller's identifier; `data` of a refused item holds nothing else. */
export function refused(error: string, id: string | undefined): string {
  return `{"success":false,"error":${JSON.stringify(error)},"data":${id === undefined ? '{}' : `{"id":${id}}`}}`
}

export function isRefused(item: string): boolean {
  return item.startsWith('{"success":false')
}
