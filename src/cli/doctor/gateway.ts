import { variableOf } from '../../config/index.ts'
import { check, skipped } from './check.ts'
import { placeOf, reach, reached } from './reach.ts'

export const gateway = check({
  name: 'gateway',
  about: "The gateway's name, connection and certificate.",
  needs: ['settings'],
  async look({ settings }) {
    const { url } = settings.gateway
    if (url === undefined) return { findings: [skipped('gateway.url is not set')] }
    const finding = await reach(placeOf(url, variableOf('gateway.url')))
    return { findings: [finding], ...(reached(finding) && { facts: { gateway: url } }) }
  },
})
