import type { Settings } from '../../config/index.ts'
import { replayRecord } from '../../control/history.ts'
import {
  contentReader,
  type FullLetter,
  findLetter,
  headerText,
  jsonOf,
  type Letter,
  newestLetters,
  originText,
  rawOf,
  shortPlace,
  shown,
} from '../../inspect/dead-letters/letter.ts'
import { openReplay, planReplay, replay } from '../../inspect/dead-letters/replay.ts'
import { originalHeaders, originalKey } from '../../records/dead-letter.ts'
import { deadLetterCodes } from '../../telemetry/labels.ts'
import { count } from '../../words.ts'
import { choiceFlag, command, type Flag, textFlag, toggle, UsageError, whole } from '../framework/command.ts'
import { jsonText, printable, printLine } from '../framework/terminal.ts'
import { onBus } from '../on-bus.ts'
import { configFlag } from '../settings.ts'
import { byFlag, keepInHistory, ourselves, reasonFlag } from './control.ts'

/** Flags for `LetterFilters`, by the same names. */
export const filterFlags = {
  stage: choiceFlag('STAGE', Object.keys(deadLetterCodes), 'Only letters that failed at this stage.'),
  code: choiceFlag('CODE', Object.values(deadLetterCodes).flat(), 'Only letters with this code.'),
  topic: textFlag('TOPIC', 'Only letters that came from this topic.'),
}

/** `partition@offset`, as `dlq list` shows it. */
const atFlag: Flag<string[]> = {
  value: 'P@OFFSET,…',
  help: 'Dead letters by partition and offset, as dlq list shows them.',
  read: list => {
    const places = list.split(',')
    if (places.every(place => /^\d+@\d+$/.test(place))) return places
    throw new Error('expected partition@offset, such as 0@12; several with commas between')
  },
}

/** One line about a letter, without its content. */
export function letterLine(letter: Letter): string {
  const { at, time, stage, code, message, perhapsSent } = jsonOf(letter)
  return printable(
    [at, time, stage, code, originText(letter), perhapsSent && 'perhaps sent', message].filter(Boolean).join('  '),
  )
}

/** One line about the replay of a letter. */
function replayLineOf(state: string, { place, origin }: Letter, why: string | undefined): string {
  const to = origin && `→ ${origin.topic}/${origin.partition}`
  return printable([state.padEnd(8), shortPlace(place), to, why].filter(Boolean).join('  '))
}

async function fullJsonOf(letter: FullLetter, reveal: boolean, settings: Settings): Promise<object> {
  const { record } = letter
  const { bytes, decoded, error } = await contentReader(settings)(letter)
  const headers = Object.entries(originalHeaders(record)).map(([name, value]) => [name, headerText(value)])
  return {
    ...jsonOf(letter),
    key: originalKey(record)?.toString() ?? null,
    headers: Object.fromEntries(headers),
    bytes,
    value: shown(decoded, reveal),
    ...(error !== null && { undecodable: error }),
    ...(error !== null && reveal && { raw: rawOf(record.value) }),
  }
}

const defaultLimit = 50
const json = toggle('Prints one JSON object per line.')

export const dlqList = command({
  about: [
    'Lists dead letters, the newest last: place (partition@offset), when it was written, stage, code,',
    'the coordinates of the record, and what is wrong with it. A letter stays after its replay, until Kafka deletes it.',
  ].join('\n'),
  flags: {
    ...filterFlags,
    limit: whole('N', `Shows only the newest N. Default: ${defaultLimit}.`, 1, 1_000_000),
    json,
    config: configFlag,
  },
  run: ({ limit = defaultLimit, json: asJson, config, ...filters }) =>
    onBus(config, async (bus, { topics }) => {
      const { newest, matching } = await newestLetters(bus, topics.deadLetters, filters, limit)
      for (const letter of newest) await printLine(asJson ? jsonText(jsonOf(letter)) : letterLine(letter))
      const left = matching - newest.length
      const more = left > 0 ? `; ${left} older left out; --limit N shows more` : ''
      process.stderr.write(`${count(newest.length, 'dead letter')}${more}.\n`)
      return 0
    }),
})

export const dlqShow = command({
  about: [
    'Shows one dead letter as JSON: what is wrong with it, its headers, and its value, decoded if that is possible',
    'now. Phones, texts and other personal data are shown as *** unless --reveal is given.',
  ].join('\n'),
  flags: {
    at: atFlag,
    reveal: toggle('Shows its whole content, personal data included.'),
    json: toggle('Prints it on one line, as JSON.'),
    config: configFlag,
  },
  async run({ at = [], reveal = false, json: asJson, config }) {
    const [place, ...others] = at
    if (place === undefined || others.length > 0) throw new UsageError('dlq show needs --at with one partition@offset')
    return onBus(config, async (bus, settings) => {
      const letter = await findLetter(bus, settings.topics.deadLetters, place)
      const full = await fullJsonOf(letter, reveal, settings)
      await printLine(jsonText(full, asJson ? 0 : 2))
      return 0
    })
  },
})

const warning = 'Do not replay a message that its producer has resent.'

export const dlqReplay = command({
  about: [
    'Writes dead letters back to their topics, with their bytes, key and headers, after the cause is repaired.',
    'Takes those that --at names, or with --all those that match the filters. Without --yes it only shows its plan.',
    'It adds headers busgate.replayed.*, marks the letter as replayed, and refuses letters that were replayed, that cannot be',
    'decoded now, and that were perhaps sent. A record that failed again has a newer letter. Letters stay in dlq list.',
    '',
    'Exits 0 if it replayed all that a replay can help, and if there was nothing to do; 1 if one is left for later, or if --at',
    'names one that was never replayed; 2 after a plan.',
    '',
    `Other dead letters were never sent to the gateway. ${warning}`,
  ].join('\n'),
  flags: {
    at: atFlag,
    all: toggle('Selects all letters that match the filters.'),
    ...filterFlags,
    'perhaps-sent': toggle('Also replays commands that were perhaps sent: people may get them twice.'),
    reason: reasonFlag('Why. Required with --yes; busgate status --history says it.'),
    by: byFlag,
    yes: toggle('Writes the records. Without it, only shows the plan.'),
    json,
    config: configFlag,
  },
  async run({
    all = false,
    yes = false,
    reason,
    by = ourselves(),
    'perhaps-sent': mayHaveBeenSent,
    json: asJson,
    config,
    ...filters
  }) {
    const { at = [] } = filters
    const named = new Set(at).size
    if (all === at.length > 0) throw new UsageError('dlq replay needs either --at or --all')
    if (yes && reason === undefined) throw new UsageError('--reason TEXT is missing: busgate status --history says why')
    const tell = (state: string, letter: Letter, why?: string) =>
      printLine(asJson ? jsonText({ state, why, ...jsonOf(letter) }) : replayLineOf(state, letter, why))
    return onBus(config, async (bus, settings) => {
      const { topics } = settings
      const read = contentReader(settings)
      let unreadRecords = 0
      const undecodable = async (letter: FullLetter) => {
        const { error } = await read(letter)
        if (error !== null) unreadRecords++
        return error === null ? null : `it cannot be decoded: ${error}`
      }
      const publisher = yes ? await openReplay(bus) : null
      const { ready, refused } = await planReplay(bus, topics, filters, undecodable, mayHaveBeenSent)
      const done = ready.length + refused.filter(one => one.left === 'nothing').length
      const left = all ? refused.filter(one => one.left === 'a replay').length : named - done
      for (const { letter, why } of refused) await tell('refused', letter, why)
      if (unreadRecords > 0) process.stderr.write(`${count(unreadRecords, 'dead letter')} cannot be decoded now.\n`)
      if (ready.length === 0) {
        process.stderr.write(left > 0 ? 'Nothing was replayed.\n' : 'There is nothing to replay.\n')
        return left > 0 ? 1 : 0
      }
      if (!publisher) {
        for (const letter of ready) await tell('ready', letter)
        throw new UsageError(`nothing was replayed: --yes replays ${count(ready.length, 'dead letter')}. ${warning}`)
      }
      const deed = { effect: 'replayed', name: topics.deadLetters, letters: ready.length, by, at: Date.now() } as const
      await keepInHistory(bus, settings, [replayRecord(topics.history, { ...deed, reason: reason! })])
      await replay(bus, publisher, topics.deadLetters, ready, async letters => {
        for (const letter of letters) await tell('replayed', letter)
      })
      process.stderr.write(`Replayed ${ready.length} of ${all ? ready.length + refused.length : named}.\n`)
      return left > 0 ? 1 : 0
    })
  },
})
