import { lackOf } from '../../config/index.ts'
import { registryOf, type SchemaRegistry } from '../../records/registry.ts'
import { inspect, plannedSubjects, type SubjectState, unregistered } from '../doctor/registry.ts'
import { command, toggle } from '../framework/command.ts'
import { printable, printableLines } from '../framework/terminal.ts'
import { type RegistryAdmin, registryAdmin } from '../registry-admin.ts'
import { configFlag, settingsFrom } from '../settings.ts'

const flags = { json: toggle('Prints one JSON object per line.'), config: configFlag }

/** A subject as printed. */
interface Row {
  subject: string
  state: 'ok' | 'differs' | 'registered'
  version: number | null
  level: string | null
  differs: string[]
}

export const schemasCheck = command({
  about: [
    'Compares the registry with the local schemas of commands, results, statuses and doubts: whether they are',
    'registered, compatible with every registered version, and have their compatibility levels. Exits 1 if not.',
  ].join('\n'),
  flags,
  run: ({ json, config }) =>
    forEachSubject(config, json, async state => {
      const { conflicts, unreadable } = state
      const differs = [...conflicts, ...(unreadable ? [unreadable] : []), ...unregistered(state)]
      return rowOf(state, differs.length === 0 ? 'ok' : 'differs', differs)
    }),
})

export const schemasRegister = command({
  about: [
    'Registers the local schemas of commands, results, statuses and doubts, and sets the compatibility level of each',
    'subject. Existing versions stay. A subject with versions that are incompatible with the local schema is not',
    'changed, and the exit code is 1.',
  ].join('\n'),
  flags,
  run: ({ json, config }) =>
    forEachSubject(config, json, async (state, admin, registry) => {
      const { subject, schema, level, conflicts, levelIsEnough, version } = state
      if (conflicts.length > 0) return rowOf(state, 'differs', conflicts)
      if (version !== null && levelIsEnough) return rowOf(state, 'ok', [])
      await registry.idOf(subject, schema)
      if (!levelIsEnough) await admin.setLevel(subject, level)
      return rowOf(await inspect(state, admin, registry), 'registered', [])
    }),
})

/** @returns the exit code */
async function forEachSubject(
  config: string | undefined,
  json: boolean | undefined,
  handle: (state: SubjectState, admin: RegistryAdmin, registry: SchemaRegistry) => Promise<Row>,
): Promise<number> {
  const settings = settingsFrom(config)
  if (settings.registry.url === undefined) throw lackOf('registry.url')
  const [admin, registry] = [registryAdmin(settings), registryOf(settings)]
  let code = 0
  for (const planned of plannedSubjects(settings)) {
    const row = await handle(await inspect(planned, admin, registry), admin, registry)
    if (row.state === 'differs') code = 1
    process.stdout.write(json ? `${printable(JSON.stringify(row))}\n` : printableLines(textOf(row)))
  }
  return code
}

function rowOf({ subject, version, actualLevel }: SubjectState, state: Row['state'], differs: string[]): Row {
  return { subject, state, version, level: actualLevel, differs }
}

function textOf({ subject, state, version, level, differs }: Row): string {
  const details = state === 'differs' ? differs : [`version ${version}, ${level}`]
  return details.map(detail => `${state.padEnd(10)}  ${subject}  ${detail}\n`).join('')
}
