type Fields = Readonly<Record<string, unknown>>

export const viberContentNames = ['viber_message', 'viber_image', 'viber_link', 'viber_carousel']
export const rcsContentNames = ['rcs_message', 'rcs_image', 'rcs_link']

/**
 * Makes the `missingContent` of an operation that any one of these fields gives something to tell. The interface does not
 * require it of every type, but whoever fills in no field of a record most likely meant another one.
 */
export const contentIn =
  (...names: string[]) =>
  (operation: Fields): string | null => {
    if (names.some(name => isFilled(operation[name]))) return null
    const wanted = operation.viber_type === 'image' ? 'viber_image' : 'viber_message'
    return names.filter(name => name === wanted || (name.endsWith('message') && !name.startsWith('viber'))).join(' or ')
  }

/** The `missingContent` of an operation that tells its recipient nothing of the caller's. */
export const noContent = (): null => null

export const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
