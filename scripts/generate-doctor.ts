/**
 * Writes docs/doctor.md from the table of checks.
 */
import { type Check, without } from '../src/cli/doctor/check.ts'
import { checks } from '../src/cli/doctor/examine.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# busgate doctor

Made by scripts/generate-doctor.ts from the table of checks (src/cli/doctor/examine.ts): change that and run npm run generate.

\`busgate doctor\` looks at everything that \`busgate run\` needs with the same settings, and prints a line for each thing: \`ok\`, \`warning\` (it runs, but less safely than it could), \`failed\` (it does not run, or can lose something) or \`skipped\` (there was nothing to look at, or this login may not see it), and below it what mends it. It exits 1 when something has failed. \`--json\` prints one object a line with \`check\`, \`state\`, \`what\` and \`mend\`.

Nothing is sent to anybody, no record is written, and no secret is printed. What it does beyond looking: it asks each account for its balance, and begins and aborts a transaction under the id \`GROUP-doctor\`. A check may take 5 seconds.

Only the roles of the settings are looked at: run it with the settings, and best on the machine or in the pod, of the process that it is about.

\`busgate topics create\` and \`busgate schemas register\` do what it recommends for topics and schemas.

| check | looks at | is skipped when |
|---|---|---|
`

function row({ name, about, needs }: Check): string {
  return `| ${name} | ${about} | ${needs.map(fact => without[fact]).join(', ') || 'never'} |\n`
}

writeGenerated('docs/doctor.md', header + checks.map(row).join(''))
