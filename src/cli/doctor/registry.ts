import { tlsOf, variableOf } from '../../config/index.ts'
import { registryAdmin } from '../schemas/registry-admin.ts'
import { check, failed, ok, skipped } from './check.ts'
import { addressOf, reach, reached } from './reach.ts'

export const registry = check({
  name: 'registry',
  about: "The schema registry's name, connection and certificate; that it is one, and takes the credentials.",
  needs: ['settings'],
  async look({ settings }) {
    const { url, ssl } = settings.registry
    if (url === undefined) return { findings: [skipped('registry.url is not set: the one in the process is used')] }
    const variable = variableOf('registry.url')
    const place = addressOf(url, { givenBy: variable, caGivenBy: `${variableOf('registry.ssl.ca')}_FILE` })
    const finding = await reach({ ...place, tls: place.tls && tlsOf(ssl) })
    if (!reached(finding)) return { findings: [finding] }
    const admin = registryAdmin(settings)
    try {
      const level = await admin.levelOfAll()
      return {
        findings: [finding, ok(`answers; compatibility is ${level} unless a subject says otherwise`)],
        facts: { registry: admin },
      }
    } catch (error) {
      return { findings: [finding, failed((error as Error).message, `check ${variable}, its path included`)] }
    }
  },
})
