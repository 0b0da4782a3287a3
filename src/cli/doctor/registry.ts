import { variableOf } from '../../config/index.ts'
import { registryOf } from '../../records/open.ts'
import { registryAdmin } from '../schemas/registry-admin.ts'
import { inspect, plannedSubjects, type SubjectState } from '../schemas/subjects.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

export const registry = check({
  name: 'registry',
  about: 'The schema registry answers and accepts the credentials.',
  needs: ['settings'],
  async look({ settings }) {
    if (settings.registry.url === undefined) {
      return { findings: [skipped('registry.url is not set: the embedded registry is used')] }
    }
    const admin = registryAdmin(settings)
    try {
      const level = await admin.levelOfAll()
      const what = `answers; compatibility is ${level} unless a subject says otherwise`
      return { findings: [ok(what)], facts: { registry: admin } }
    } catch (error) {
      return { findings: [failed((error as Error).message, `check ${variableOf('registry.url')}, its path included`)] }
    }
  },
})

export const schemas = check({
  name: 'schemas',
  about:
    'The local schemas are registered and compatible with all registered versions, and the subjects have their compatibility levels: commands BACKWARD_TRANSITIVE, results, statuses and doubts FULL_TRANSITIVE.',
  needs: ['settings', 'registry'],
  async look({ settings, registry }) {
    const reader = registryOf(settings)
    const states = await Promise.all(plannedSubjects(settings).map(planned => inspect(planned, registry, reader)))
    return { findings: states.flatMap(ofSubject) }
  },
})

const register = 'busgate schemas register'

function ofSubject(state: SubjectState): Finding[] {
  const { subject, version, latest, level, actualLevel, levelIsEnough, conflicts } = state
  const findings = conflicts.map(conflict =>
    failed(
      `${subject}: ${conflict}`,
      `use a topic whose subject only busgate writes, or delete that version of ${subject}`,
    ),
  )
  if (latest === null) findings.push(warning(`${subject} is not registered`, register))
  else if (version === null)
    findings.push(warning(`${subject} does not have the local schema in any version`, register))
  if (latest !== null && !levelIsEnough) {
    const actual = actualLevel ?? "the registry's own level"
    findings.push(warning(`${subject} has ${actual}, which is weaker than ${level}`, register))
  }
  return findings.length > 0 ? findings : [ok(`${subject} is version ${version}, ${actualLevel}`)]
}
