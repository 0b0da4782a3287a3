import type { ValueOf } from './check.ts'
import type { definitions, SettingPath } from './definitions.ts'

/** A value as it may be given: native, or as the text of a variable. */
type GivenAs<T> = T extends readonly (infer E)[]
  ? string | readonly (E extends string ? E : string)[]
  : T extends number | boolean
    ? T | `${T}`
    : T extends string
      ? T
      : T | string

type Definition<P extends SettingPath> = (typeof definitions)[P]

/** GivenValues is what may be given for each setting, by its path. The file of a secret is named by a text. */
export type GivenValues = {
  [P in SettingPath]: Definition<P> extends { secret: true } ? string : GivenAs<NonNullable<ValueOf<Definition<P>>>>
}
