/**
 * Bundles the library's entry points into dist, and the command line into dist/cli, each with the dependencies in a few files,
 * of which a service or a command loads only what it uses.
 */
import { cpSync, globSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { type BuildOptions, build } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'

const common: BuildOptions = {
  platform: 'node',
  transform: { target: 'es2024' },
  treeshake: {
    // On import, @platformatic/kafka compiles option checks for its clients, which takes 0.5 s. busgate uses no such client.
    moduleSideEffects: id => !id.includes('/node_modules/@platformatic/kafka/'),
    manualPureFunctions: ['ajv.compile'],
  },
}

/** What a service shares with busgate: its tracing, and the schemas of busgate/protocol. */
const shared = ['@opentelemetry/api', 'zod']
/** The registry's client evaluates code when it is loaded, which a service's bundler then sees as its own. */
const separate = ['@kafkajs/confluent-schema-registry']
const entries = ['index', 'producer', ...['consumer', 'gateway', 'protocol', 'sandbox'].map(room => `${room}/index`)]

await build({
  ...common,
  input: Object.fromEntries(entries.map(entry => [entry, `src/${entry}.ts`])),
  // imports what CommonJS dependencies require: a bundle of a service has no `import.meta.url` to require from
  plugins: [
    esmExternalRequirePlugin({
      external: [...shared, ...separate, ...builtinModules.filter(name => !name.includes(':')), /^node:(?!sqlite$)/],
    }),
  ],
  // only for a cache of undici that busgate does not use; its import would print a warning
  resolve: { alias: { 'node:sqlite': false } },
  output: { dir: 'dist', chunkFileNames: 'chunks/[name].js', sourcemap: true },
})

// For `require`, the same modules (Node loads them since 22.12) with the types of a CommonJS package, as TypeScript wants them.
for (const file of globSync('**/*.d.ts', { cwd: 'dist' })) cpSync(`dist/${file}`, `dist/require/${file}`)
for (const entry of entries) {
  const up = entry.includes('/') ? '../..' : '..'
  writeFileSync(`dist/require/${entry}.js`, `module.exports = require('${up}/${entry}.js')\n`)
}
writeFileSync('dist/require/package.json', '{"type":"commonjs"}\n')

await build({
  ...common,
  input: 'src/cli/bin.ts',
  checks: { eval: false },
  output: {
    dir: 'dist/cli',
    chunkFileNames: '[name].js',
    // Node suppresses deprecation warnings only for files in node_modules, where bundled dependencies no longer are.
    intro: ({ isEntry }) => (isEntry ? 'process.noDeprecation = true' : ''),
  },
})

cpSync('src/ui/page', 'dist/cli/page', { recursive: true, filter: file => !file.endsWith('.json') })
