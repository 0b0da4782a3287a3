/** Vitest runs this file before a test file. Lists and texts with a greatest length are drawn up to it, not only up to ten. */
import fc from 'fast-check'

/** Of a property that fails because of a mutant, nobody reads the smallest example, which takes long to find. */
const isForMutants = process.env.MUTANT_TESTS !== undefined

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true, endOnFailure: isForMutants })
