/** Vitest runs this file before a test file: lists and texts with a greatest length are drawn up to it, not only up to ten. */
import fc from 'fast-check'

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })
