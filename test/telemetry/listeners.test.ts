import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const events = new URL('../../src/telemetry/events.ts', import.meta.url)

test('an error in a listener ends the process, but does not disturb the work that was reported', () => {
  const program = `
    import { Telemetry } from '${events}'
    const telemetry = new Telemetry()
    telemetry.on('account.resumed', () => { throw new Error('the listener is wrong') })
    telemetry.emit('account.resumed', { account: 'default' })
    console.log('the worker continues')`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('the worker continues\n')
  expect(stderr).toContain('the listener is wrong')
  expect(status).toBe(1)
})
