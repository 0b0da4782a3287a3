import type { z } from 'zod'
import type { SendType } from '../protocol/index.ts'
import type { definitions, SettingPath } from './definitions.ts'
import type { Secret } from './secret.ts'

type Definition<P extends SettingPath> = (typeof definitions)[P]
type ParsedValue<P extends SettingPath> = Definition<P> extends { type: z.ZodType<infer T> } ? T : never

type CheckedValue<P extends SettingPath> =
  Definition<P> extends { secret: true }
    ? Secret<ParsedValue<P>> | undefined
    : Definition<P> extends { default: undefined }
      ? ParsedValue<P> | undefined
      : ParsedValue<P>

/** The validated value of every setting by path; a path with a placeholder has a map by the placeholder's value. */
export type CheckedValues = {
  [P in SettingPath]: P extends `${string}.NAME.${string}` | `${string}.TYPE`
    ? ReadonlyMap<string, NonNullable<CheckedValue<P>>>
    : CheckedValue<P>
}

type PartBelow<P extends string, Prefix extends string> = P extends `${Prefix}${infer Rest}`
  ? Rest extends `${infer Part}.${string}`
    ? Part
    : Rest
  : never

/** The validated settings directly below a section. */
export type Section<Name extends string> = {
  [P in SettingPath as P extends `${Name}.${PartBelow<P, `${Name}.`>}`
    ? PartBelow<P, `${Name}.`>
    : never]: CheckedValues[P]
}

/** A value as given: native, or as the text of a variable. */
type GivenAs<T> = T extends readonly (infer E)[]
  ? string | readonly (E extends string ? E : string)[]
  : T extends number | boolean
    ? T | `${T}`
    : T extends string
      ? T
      : T | string

type Given<P extends SettingPath> = Definition<P> extends { secret: true } ? string : GivenAs<ParsedValue<P>>

/** How a user writes a part of a path; a secret may also be given by its file. */
type KeyBelow<P extends SettingPath, Prefix extends string> =
  PartBelow<P, Prefix> extends infer Part extends string
    ? Part extends 'NAME'
      ? string
      : Part extends 'TYPE'
        ? SendType
        : P extends `${Prefix}${Part}`
          ? Definition<P> extends { secret: true }
            ? Part | `${Part}File`
            : Part
          : Part
    : never

type GivenBelow<P extends SettingPath, Prefix extends string> = P extends `${Prefix}${PartBelow<P, Prefix>}`
  ? Given<P>
  : TreeBelow<`${Prefix}${PartBelow<P, Prefix>}.`>

type TreeBelow<Prefix extends string> = {
  readonly [P in SettingPath as KeyBelow<P, Prefix>]?: GivenBelow<P, Prefix> | undefined
}

/** Settings in the form of the YAML file; all are optional. `busgate config explain` describes each. */
export interface SettingsTree extends TreeBelow<''> {}
