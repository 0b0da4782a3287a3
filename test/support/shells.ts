import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished, vi } from 'vitest'

export const shells = ['bash', 'zsh', 'fish'] as const
export type ShellName = (typeof shells)[number]

const run = promisify(execFile)
const main = join(import.meta.dirname, '../../src/cli/main.ts')
const cache = join(import.meta.dirname, '../../.cache')
const patience = { timeout: 60_000, interval: 20 }

/** Debian's packages of a shell that is not installed; they are unpacked, not installed. */
const packages = { bash: ['bash'], zsh: ['zsh', 'zsh-common'], fish: ['fish', 'fish-common', 'libpcre2-32-0'] }

interface Installed {
  program: string
  /** Where Debian's packages are unpacked; null if the shell is installed. */
  root: string | null
}

/** Finds a shell, or unpacks it from Debian's packages; null if neither is possible here. */
async function find(name: ShellName): Promise<Installed | null> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const program = folders.map(folder => join(folder, name)).find(existsSync)
  if (program) return { program, root: null }
  const root = join(cache, 'shells', name)
  if (!existsSync(root) && !(await unpack(name, root))) return null
  return { program: ['usr/bin', 'bin'].map(folder => join(root, folder, name)).find(existsSync)!, root }
}

async function unpack(name: ShellName, root: string): Promise<boolean> {
  mkdirSync(join(cache, 'shells'), { recursive: true })
  const folder = mkdtempSync(join(cache, 'shells', 'new-'))
  try {
    const { stdout } = await run('apt-get', ['download', '--print-uris', ...packages[name]])
    await run('apt-get', ['-o', 'Acquire::Retries=0', 'download', ...packages[name]], { cwd: folder })
    for (const [, file] of stdout.matchAll(/^'\S+' (\S+)/gm)) await run('dpkg-deb', ['-x', join(folder, file!), folder])
    mkdirSync(join(folder, 'usr/etc/fish'), { recursive: true }) // fish then reads usr/share/fish beside its program
    renameSync(folder, root)
    return true
  } catch {
    rmSync(folder, { recursive: true })
    return false
  }
}

/** What a shell reads at its start. `busgate` completes as in the project, and otherwise only notes how it was called. */
const startFiles: Record<ShellName, (root: string | null) => { file: string; text: string; args: string[] }> = {
  bash: () => ({
    file: '.bashrc',
    text: `
      busgate() { if [[ $1 == comp* ]]; then ${process.execPath} ${main} "$@"; else printf '<%s>' "$@" > called; fi; }
      source <(busgate completion bash)
      PS1='ready: '`,
    args: ['--noprofile', '--rcfile', '.bashrc', '-i'],
  }),
  zsh: root => ({
    file: '.zshrc',
    text: `
      ${root === null ? '' : `module_path=(${root}/usr/lib/*/zsh/*); fpath=(${root}/usr/share/zsh/functions/**/*(/))`}
      autoload -Uz compinit && compinit -D -u
      busgate() { if [[ $1 == comp* ]]; then ${process.execPath} ${main} "$@"; else printf '<%s>' "$@" > called; fi; }
      source <(busgate completion zsh)
      PS1='ready: '`,
    args: ['-d', '-i'],
  }),
  fish: () => ({
    file: 'start.fish',
    text: `
      function busgate
        if string match -q 'comp*' $argv[1]
          ${process.execPath} ${main} $argv
        else
          printf '<%s>' $argv > called
        end
      end
      busgate completion fish | source
      function fish_prompt; printf 'ready: '; end`,
    args: ['-N', '-i', '-C', 'source start.fish'],
  }),
}

/** Starts an interactive shell in a terminal, in a folder of its own; null if there is no such shell. */
export async function startShell(name: ShellName) {
  const installed = await find(name)
  if (!installed || !existsSync('/usr/bin/script')) return null
  const { program, root } = installed
  const folder = mkdtempSync(join(tmpdir(), 'busgate-shell-'))
  const { file, text, args } = startFiles[name](root)
  writeFileSync(join(folder, file), text)
  const quoted = [program, ...args].map(word => `'${word}'`).join(' ')
  const child = spawn('/usr/bin/script', ['-qfec', `stty cols 200; exec ${quoted}`, '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      ZDOTDIR: folder,
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      NODE_COMPILE_CACHE: join(cache, 'compiled'),
      ...(root !== null && { LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') }),
    },
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    shown += text
  })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const called = join(folder, 'called')
  return {
    folder,
    /** Types keys, with tabs, and the Enter key at the end. @returns the words with which busgate was called, each in <> */
    async type(keys: string): Promise<string> {
      await vi.waitFor(() => {
        if (!/ready: [^\n]*$/.test(shown)) throw new Error(`no prompt: ${shown}`)
      }, patience)
      shown = ''
      rmSync(called, { force: true })
      child.stdin.write(`${keys}\r`)
      return vi.waitFor(() => {
        if (!existsSync(called)) throw new Error(`busgate was not called: ${shown}`)
        const words = readFileSync(called, 'utf8')
        if (words === '') throw new Error('not written yet')
        return words
      }, patience)
    },
  }
}
