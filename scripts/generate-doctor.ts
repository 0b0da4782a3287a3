/**
 * Writes docs/doctor.md from the table of checks.
 */

import { checks } from '../src/cli/commands/doctor.ts'
import { type Check, without } from '../src/cli/doctor/check.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# busgate doctor

<!-- Made by scripts/generate-doctor.ts from the table of checks (src/cli/commands/doctor.ts): change that and run npm run generate. -->

For operators: \`busgate doctor\` checks what \`busgate run\` needs outside its own process with the same settings, and prints a line for each finding: \`ok\`, \`warning\` (it runs, but less safely than it could), \`failed\` (it does not run, or can lose something) or \`skipped\` (nothing to check, or this login may not see it). The line below says how to repair it. It exits 1 if something failed. \`--json\` prints one object a line with \`check\`, \`state\`, \`what\` and \`mend\`.

It sends no message, writes no record and prints no secret. It reads each account's balance, and begins and aborts a transaction with the id \`GROUP-doctor\`. A check takes at most 5 seconds.

It checks only the roles of the settings. Run it with the settings of the process, on the same machine or in its pod.

\`busgate topics create\` and \`busgate schemas register\` carry out what it recommends for topics and schemas.

| check | checks | is skipped when |
|---|---|---|
`

function row({ name, about, needs }: Check): string {
  return `| ${name} | ${about} | ${needs.map(fact => without[fact]).join(', ') || 'never'} |\n`
}

writeGenerated('docs/doctor.md', header + checks.map(row).join(''))
