import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'

vi.setConfig({ testTimeout: 120_000 })

function generate(root: string, ...options: string[]) {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate.ts', ...options], {
    cwd: root,
    encoding: 'utf8',
  })
  return {
    status,
    told: stderr
      .trim()
      .split('\n')
      .filter(line => !line.startsWith('(')),
  }
}

/** What the generated files are made from, and they themselves. */
function copyOfTheProject(): string {
  const root = mkdtempSync(join(tmpdir(), 'busgate-generated-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const part of ['src', 'scripts', 'schemas', 'docs', 'helm', 'test/support', 'package.json']) {
    cpSync(part, join(root, part), { recursive: true })
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'))
  return root
}

test('the generated files are what they are made from', () => {
  expect(generate('.', '--check')).toEqual({ status: 0, told: [''] })
})

test('all stale files are named with the command that writes them, and one that cannot be made keeps back no other', () => {
  const root = copyOfTheProject()
  generate(root)
  const stale = ['docs/logs.md', 'helm/dashboards/busgate-kafka.json']
  for (const path of stale) appendFileSync(join(root, path), 'by hand\n')
  writeFileSync(join(root, 'helm/dashboards/left-over.json'), '{}')
  const examples = join(root, 'test/support/examples.ts')
  writeFileSync(examples, readFileSync(examples, 'utf8').replace(/^ {2}sms: \{/m, '  fax: {'))

  const broken = expect.stringMatching(/^docs\/operations\.md cannot be made yet .*has no examples of sms/)
  const remedy = '3 stale: npm run generate writes them, npm run fix formats as well'
  const found = generate(root, '--check')
  expect(found).toEqual({ status: 1, told: [broken, ...stale, 'helm/dashboards/left-over.json', remedy] })

  expect(generate(root)).toEqual({ status: 1, told: [broken] })
  expect(generate(root, '--check')).toEqual({ status: 1, told: [broken] })
})
