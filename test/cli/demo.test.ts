import { describe, expect, test } from 'vitest'
import { sendTypes } from '../../src/protocol/index.ts'
import { busgate, startBusgate } from '../support/cli.ts'
import { blocks } from '../support/documents.ts'

const counts = (row: string) => row.match(/[\d,]+/g)!.map(cell => Number(cell.replaceAll(',', '')))

describe('the demo on the embedded bus', () => {
  test('succeeds, with sums that add up, as in README', async () => {
    const { code, stdout, stderr } = await busgate(['demo'])
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    const rows = sendTypes.map(kind => lines.find(line => line.startsWith(`${kind} `))!.slice(kind.length))
    const [commands, ...cells] = counts(lines.find(line => line.startsWith('all '))!)
    const sums = rows.map(counts).reduce((sum, row) => sum.map((cell, i) => cell + row[i]!))
    expect(sums).toEqual([commands, ...cells])
    expect(commands).toBe(1000)
    expect(cells[0]! + cells[1]!).toBe(1000) // SENT and REJECTED
    expect(stdout).toContain('✓ results: one final one for each command; missing 0, with two final ones 0')
    expect(stdout).toContain('billed twice 0')
    const shown = blocks.find(({ file, language }) => file === 'README.md' && language === 'text')!
    expect(lines).toEqual(expect.arrayContaining(shown.text.split('\n').filter(line => line !== '…')))
    expect(stderr).toMatch(/commands 1,000 in; envelopes \d+/)
  })

  test('reports a disk that cannot be written, and names the variable to choose another', async () => {
    const { code, stderr } = await busgate(['demo'], { env: { TMPDIR: '/proc' } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/mkdtemp '\/proc\/busgate-demo-\w+': set TMPDIR to a folder that can be written\n$/)
  })

  test('prints JSON with --json, and ignores environment variables that name another gateway', async () => {
    const env = {
      BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
      BUSGATE_CONFIG: 'missing.yaml',
      BUSGATE_KAFKA_BROKERS: 'embedded',
    }
    const { code, stdout } = await busgate(['demo', '--count', '50', '--json'], { env })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, commands: 50, results: { missing: 0 } })
  })

  test('keeps running with --keep until it is interrupted, and prints its addresses', async () => {
    const demo = startBusgate(['demo', '--count', '20', '--keep', '--json'])
    await demo.line('"ok":true')
    const metrics = await addressIn(demo.stderr, 'metrics')
    expect(await (await fetch(metrics)).text()).toContain('busgate_results_published_total')
    expect(await addressIn(demo.stderr, 'settings')).toMatch(/demo\.yaml$/)
    expect(demo.stderr()).not.toContain('busgate tail') // another process cannot reach this bus
    demo.signal('SIGINT')
    expect((await demo.ended).code).toBe(0)
  })

  test('exits 130 if interrupted', async () => {
    const demo = startBusgate(['demo', '--count', '100000'])
    await expect.poll(demo.stderr, { timeout: 60_000 }).toContain('Ready.')
    demo.signal('SIGINT')
    expect((await demo.ended).code).toBe(130)
  })
})

async function addressIn(text: () => string, name: string): Promise<string> {
  await expect.poll(text, { timeout: 60_000 }).toContain('Ctrl-C ends.')
  return new RegExp(`${name} +(\\S+)`).exec(text())![1]!
}
