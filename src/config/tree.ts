import type { SendType } from '../protocol/index.ts'
import type { ValueOf } from './check.ts'
import type { definitions, SettingPath } from './definitions.ts'

/** A value as it may be given: native, or as the text of a variable. */
type Given<T> = T extends readonly (infer E)[]
  ? string | readonly (E extends string ? E : string)[]
  : T extends number | boolean
    ? T | `${T}`
    : T extends string
      ? T
      : T | string

type Definition<P extends SettingPath> = (typeof definitions)[P]
type Plain<S> = S extends { secret: true } ? string : Given<NonNullable<ValueOf<S>>>
type SecretPath = { [P in SettingPath]: Definition<P> extends { secret: true } ? P : never }[SettingPath]

/** Each setting stands under its path, a secret also under that of its twin, which names a file. */
type ByPath = { [P in SettingPath]: Plain<Definition<P>> } & { [P in SecretPath as `${P}File`]: string }

type HeadOf<P> = P extends `${infer Head}.${string}` ? Head : P
type Below<M, Head extends string> = {
  [P in keyof M as P extends `${Head}.${infer Rest}` ? Rest : never]: M[P]
}
type Branch<M, Head extends string> =
  | (Head extends keyof M ? M[Head] : never)
  | (keyof Below<M, Head> extends never ? never : TreeOf<Below<M, Head>>)

type TreeOf<M> =
  'NAME' extends HeadOf<keyof M>
    ? Readonly<Record<string, Branch<M, 'NAME'>>>
    : 'TYPE' extends HeadOf<keyof M>
      ? { readonly [T in SendType]?: Branch<M, 'TYPE'> | undefined }
      : { readonly [Head in HeadOf<keyof M> & string]?: Branch<M, Head> | undefined }

/** Settings as a tree like that of the file; none is required. `busgate config print` shows all of them. */
export type SettingsTree = TreeOf<ByPath>
