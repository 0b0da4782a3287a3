import type { Grammar } from './grammar.ts'
import { answers } from './grammars/answers.ts'
import { callbacks } from './grammars/callbacks.ts'
import { control } from './grammars/control.ts'
import { dispatch } from './grammars/dispatch.ts'
import { records } from './grammars/records.ts'
import { registry } from './grammars/registry.ts'
import { settings } from './grammars/settings.ts'

export const grammars: Readonly<Record<string, Grammar>> = {
  records,
  dispatch,
  control,
  registry,
  callbacks,
  answers,
  settings,
}
