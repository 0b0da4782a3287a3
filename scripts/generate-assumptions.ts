/**
 * Writes docs/assumptions.md from the catalogue of points that the gateway's specification leaves open.
 */
import { assumptions, openPointNames, openPoints } from '../src/sandbox/open-points.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# What is assumed of the gateway

<!-- Made by scripts/generate-assumptions.ts from the catalogue (src/sandbox/open-points.ts): change that and run npm run generate. -->

For operators who connect a real gateway: what its specification leaves open, what busgate does, and what to set.

With every reading of the first table, no message is sent twice, every doubt ends, and one-time passwords pass meanwhile: [open-points.test.ts](../test/create-worker/open-points.test.ts) runs a worker that loses answers against each. \`busgate sandbox --open status=text\` behaves by that reading; the first of each point is the default.

| open | point | readings | what busgate does | what to set |
|---|---|---|---|---|
`

const simulated = openPointNames.map(name => {
  const { open, readings, does, set } = openPoints[name]
  const list = Object.entries(readings).map(([reading, meaning]) => `\`${reading}\`: ${meaning}`)
  return row(open, `\`${name}\``, list.join('<br>'), does, set)
})

const others = assumptions.map(({ open, does, set }) => row(open, does, set))

writeGenerated(
  'docs/assumptions.md',
  [
    header,
    ...simulated,
    '\nThe sandbox does not simulate these points:\n\n| open | what busgate does | what to set |\n|---|---|---|\n',
    ...others,
  ].join(''),
)

function row(...cells: string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}
