import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { busgateHere } from '../support/cli.ts'
import { shells, startShell } from '../support/shells.ts'

describe.each(shells)('in %s, the Tab key', shell => {
  test('completes commands, flags, their values, names of settings and of files', async ({ skip }) => {
    const terminal = await startShell(shell)
    if (!terminal) return skip(`there is no ${shell}`)
    writeFileSync(join(terminal.folder, 'busgate.yaml'), '')
    expect(await terminal.type('busgate ta\tresu\t--outc\tSE\t')).toBe('<tail><results><--outcome><SENT>')
    expect(await terminal.type('busgate tail results --outcome=SE\t')).toBe('<tail><results><--outcome=SENT>')
    expect(await terminal.type('busgate config explain gateway.quietH\t')).toBe('<config><explain><gateway.quietHours>')
    expect(await terminal.type('busgate gateway call/o\t')).toBe('<gateway><call/otp>')
    expect(await terminal.type('busgate help dl\tsh\t')).toBe('<help><dlq><show>')
    expect(await terminal.type('busgate run --conf\tbusg\t')).toBe('<run><--config><busgate.yaml>')
    expect(await terminal.type('busgate run --config=busg\t')).toBe('<run><--config=busgate.yaml>')
  })

  test('runs nothing that the line would run', async ({ skip }) => {
    const terminal = await startShell(shell)
    if (!terminal) return skip(`there is no ${shell}`)
    const words = shell === 'fish' ? '(echo once | tee -a ran)' : '"$(echo once | tee -a ran)"'
    expect(await terminal.type(`busgate send --message ${words} --wai\t`)).toBe('<send><--message><once><--wait>')
    expect(readFileSync(join(terminal.folder, 'ran'), 'utf8')).toBe('once\n')
  })
})

test('every command and flag in the help can be completed', async () => {
  const candidates = async (...words: string[]) => {
    const { code, stdout, stderr } = await busgateHere(['complete', '--', ...words])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout.split('\n').map(line => line.split('\t')[0])
  }
  for (const name of Object.keys(commands)) {
    const words = name.split(' ')
    for (const [i, word] of words.entries()) expect(await candidates(...words.slice(0, i), word)).toContain(word)
    const { stdout } = await busgateHere([...words, '--help'])
    const flags = [...stdout.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag]) => flag)
    expect(await candidates(...words, '--')).toEqual([...flags, '--help', ''])
  }
})

test('completion without the name of a shell, or with another, says which there are', async () => {
  expect(await busgateHere(['completion'])).toMatchObject({
    code: 2,
    stderr: 'busgate: completion needs a SHELL, one of bash, zsh, fish\n',
  })
  expect(await busgateHere(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' })
})
