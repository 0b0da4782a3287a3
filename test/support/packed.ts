import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const sources = [
  'bin',
  'package.json',
  'package-lock.json',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs',
  'examples',
  'helm',
  'schemas',
  'scripts/bundle.ts',
  'scripts/sbom.ts',
  'src',
  'tsconfig.json',
  'tsconfig.build.json',
]

/** A user's project with the packed package installed. */
export type Project = Awaited<ReturnType<typeof projectWithPackage>>

/** Packs the package as for publication and installs it into an empty project, offline. */
export async function projectWithPackage() {
  const home = await mkdtemp(join(tmpdir(), 'busgate-package-'))
  const folder = join(home, 'project')
  await mkdir(folder)
  const tarball = await pack(home)
  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}')
  await copyDependencies(folder)
  await runProgram(folder, 'npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball])
  for (const path of typesOfNode) await cp(join(root, path), join(folder, path), { recursive: true })
  return {
    folder,
    tarball,
    write: (file: string, text: string) => writeFile(join(folder, file), text),
    /** Runs `node`, `npx` or one of busgate's development dependencies in the project. @throws Error with its output */
    run: (program: string, ...args: string[]) => runProgram(folder, program, args),
    remove: () => rm(home, { recursive: true }),
  }
}

/** Packs a copy: a build in place would delete `dist` while another test uses it. */
async function pack(home: string): Promise<string> {
  const copy = join(home, 'busgate')
  for (const source of sources) await cp(join(root, source), join(copy, source), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  await runProgram(copy, 'npm', ['pack', '--pack-destination', home])
  const tarball = (await readdir(home)).find(file => file.endsWith('.tgz'))
  return join(home, tarball!)
}

interface Locked {
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  bin?: Record<string, string>
}

/** What a project in TypeScript has itself. */
const typesOfNode = ['node_modules/@types/node', 'node_modules/undici-types']

/** Copies the dependencies that npm would fetch: npm keeps installed ones. */
async function copyDependencies(folder: string): Promise<void> {
  const lock: { packages: Record<string, Locked> } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const bin = join(folder, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  for (const [path, { dev, devOptional, optional, bin: programs = {} }] of Object.entries(lock.packages)) {
    if (path === '' || dev || devOptional || optional) continue
    await cp(join(root, path), join(folder, path), { recursive: true })
    for (const [name, file] of Object.entries(programs)) {
      await symlink(join(relative(bin, join(folder, path)), file), join(bin, name))
    }
  }
}

/** Ends a program that hangs. */
const limitMs = 200_000

/** Runs a program without npm's environment variables, which would point it at this package instead. */
export async function runProgram(cwd: string, program: string, args: string[]): Promise<string> {
  const { PATH = '', ...others } = process.env
  const env = Object.fromEntries(Object.entries(others).filter(([name]) => !/^(npm_|BUSGATE_|NODE_)/i.test(name)))
  const path = [dirname(process.execPath), join(root, 'node_modules/.bin'), PATH].join(delimiter)
  const options = { cwd, env: { ...env, PATH: path, NO_COLOR: '1' }, timeout: limitMs }
  const running = promisify(execFile)(program, args, options)
  const { stdout } = await running.catch(error => {
    throw new Error(`${program} ${args.join(' ')}:\n${error.stdout}${error.stderr}`)
  })
  return stdout
}
