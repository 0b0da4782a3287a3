/** The version of this package; `npm version` writes it. */
export const version = '0.1.0'
