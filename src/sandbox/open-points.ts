/** A point that the gateway's specification leaves open, and whose readings the sandbox can behave by. */
interface OpenPoint {
  /** What is open. */
  open: string
  /** The first is its default. */
  readings: Readonly<Record<string, string>>
  /** What busgate does, whichever reading is right. */
  does: string
  /** What to set or do if a reading needs it. */
  set: string
}

const nothing = 'nothing'

/**
 * The catalogue of open points that the sandbox simulates. docs/assumptions.md is made from it, and test/create-worker/open-points.test.ts
 * runs a worker against every reading.
 */
export const openPoints = {
  status: {
    open: 'Payload of `status`',
    readings: {
      fields: '`{id, type, status}`, and `replies` for two-way Viber',
      text: '`data` is the status',
      list: '`data` is a list with one object',
      object: '`status` is an object with a code and a text',
      state: 'the status is in a field `state`',
      beside: 'the status is beside `data`',
      'foreign-id': "`data.id` is the gateway's own identifier",
      number: '`status` is a number',
      empty: '`data` is missing',
    },
    does: 'A text in a successful item, wherever it stands, proves that the message was sent, unless it only repeats `type`, `id`, `phone`, `msg_id` or `request_id`. An answer without words proves nothing, and the message is never sent again. Position decides for a status alone in its envelope; doubts are polled alone where an answer to several cannot be split.',
    set: nothing,
  },
  statusTexts: {
    open: 'Status texts beside DELIVERED and REJECTED, and which are final',
    readings: {
      listed: 'those of [statuses.md](statuses.md#what-the-gateways-texts-mean)',
      other: 'SENT, IN_PROGRESS, DONE',
    },
    does: 'Any text but UNKNOWN proves that the message was sent. For the state of an unlisted text, `success` decides; without it, the state is UNKNOWN and not final.',
    set: nothing,
  },
  unknownId: {
    open: 'Answer to `status` of an id that the gateway does not know',
    readings: {
      refused: 'the item is refused: Message not found',
      unknown: 'status UNKNOWN',
      empty: 'a successful item with only the id',
      text: 'status NOT FOUND in a successful item',
      envelope: 'the whole envelope is refused',
    },
    does: 'A refusal and UNKNOWN leave the decision to the policy, and so does an envelope that is refused because of this id alone. An answer without words ends the doubt UNRESOLVED. Any other text counts as sent.',
    set: '`gateway.notFoundTexts`: the text, if there is one. Required if it stands in a successful item.',
  },
  statusRight: {
    open: 'Whether a key that may send may also ask for statuses',
    readings: {
      granted: 'yes',
      denied: 'no: Access denied for the envelope',
      'item-denied': 'no: Access denied for the item',
    },
    does: 'Polls never hold back commands. If commands pass while polls are denied, the doubts end UNRESOLVED.',
    set: 'ask the operator of the gateway for the right; `callbacks.publicUrl`, so that callbacks resolve doubts',
  },
  duplicates: {
    open: 'An id that was executed before',
    readings: { execute: 'executes and bills it again', refuse: 'refuses it: DUPLICATE' },
    does: 'Sends an id again only after a doubt that no status resolves. A refusal because the id is known proves the earlier request: SENT.',
    set: '`gateway.errorTexts`: the text of such a refusal',
  },
  ids: {
    open: 'How ids are echoed',
    readings: {
      number: 'as numbers',
      string: 'as text',
      padded: 'as text with leading zeros',
      rounded: 'as numbers that lose digits beyond 2^53',
      absent: 'not at all',
    },
    does: 'Compares them as decimal text without padding; a missing or rounded one matches by position.',
    set: 'use ids below 2^53 with a gateway that rounds',
  },
  msgId: {
    open: 'Whether every accepted message gets a `msg_id`',
    readings: { given: 'yes', absent: 'no' },
    does: 'A successful item is a success whatever it lacks: SENT without `msgId`, and the same from the client.',
    set: nothing,
  },
  values: {
    open: 'Form of numbers and flags in answers',
    readings: { typed: 'as the tables say', texts: '"two", "0,50", 1 for true, "025501"' },
    does: 'Converts what is unambiguous. Anything else stays as it came: in `payload` of a result, `extra` of a status event, `raw` of an answer of the client.',
    set: nothing,
  },
  balance: {
    open: 'Payload of `balance`',
    readings: {
      fields: '`{amount, currency}`, amount as a number',
      text: 'amount "31.16 UAH"',
      comma: 'amount "1 234,50"',
      split: '`{main, bonus}`',
    },
    does: 'Passes it on unchanged. If there is no amount that is a number, the metric of the balance stays empty, and the log says so once.',
    set: nothing,
  },
  sender: {
    open: 'Payload of `sender`',
    readings: { object: 'an object with a list', list: 'a list' },
    does: 'Passes it on unchanged.',
    set: nothing,
  },
  otpRefusal: {
    open: 'Where "Operator not supported" of `call/otp` stands',
    readings: { item: 'in its item', envelope: 'in the envelope' },
    does: 'Sends each `call/otp` in its own envelope, so that only it is REJECTED.',
    set: nothing,
  },
  denied: {
    open: 'Whether "Access denied" can stand in an item',
    readings: { envelope: 'no: it refuses the envelope', item: 'yes: it refuses each item' },
    does: 'For the envelope, commands wait until the key works. For an item, its command is REJECTED.',
    set: '`gateway.errorTexts` gives the text another code',
  },
  pipeline: {
    open: 'Which stage objects a `pipeline` needs: the contract lists five as required, its example has all',
    readings: { named: 'those that `pipeline` names', strict: 'sms, telegram, viber, voice and whatsapp, always' },
    does: 'Requires those that `pipeline` names, and sends any others that the command has. A strict gateway refuses the item: REJECTED, not sent.',
    set: 'give all five objects in the command. There is no setting for empty ones, because their own required fields would be missing.',
  },
  pipelineId: {
    open: 'Whether `pipeline` needs an `id`',
    readings: { optional: 'no', required: 'yes' },
    does: 'A command always has one. The client sends one without: then a lost answer cannot be resolved.',
    set: 'always give one',
  },
  voiceHook: {
    open: 'Whether `voice` takes a `hook`',
    readings: { kept: 'yes', dropped: "no: the status goes to the account's address" },
    does: 'Sends one, since additional properties are accepted.',
    set: "`gateway.voiceHook=false`, and the account's address at the gateway",
  },
  operations: {
    open: 'Most operations in an envelope',
    readings: { unlimited: 'no limit', ten: '10; a larger envelope is refused' },
    does: 'Sends at most `gateway.maxOperations`, 100 by default. A refused envelope is halved; three refusals in a row hold the account back for a moment.',
    set: '`gateway.maxOperations`',
  },
  callbackTimes: {
    open: 'Form of `updated` in callbacks',
    readings: {
      extended: '2026-05-01T10:00:00.500Z',
      basic: '20260501T100000Z',
      comma: '2026-05-01T13:00:00,5+03:00',
      short: '2026-05-01T13:00:00+03',
    },
    does: 'Reads any ISO 8601 date-time with an offset from UTC; anything else is in `extra`.',
    set: nothing,
  },
  callbackIds: {
    open: 'Form of `id` in callbacks',
    readings: {
      text: 'text',
      number: 'a number',
      padded: 'text with leading zeros',
      rounded: 'a number that loses digits beyond 2^53',
    },
    does: "Compares them as in answers. At an account's own address, a rounded id is taken for another message's.",
    set: nothing,
  },
  asyncStatus: {
    open: 'HTTP status of the asynchronous interface',
    readings: { always200: 'always 200', http: '400, 401, 405, 413, 415, 503 for refusals' },
    does: '`sendAsync`: HTTP 400 and 401, and `success: false` with any status below 500, mean not queued; 500 and above is in doubt, whatever the body says.',
    set: nothing,
  },
} as const satisfies Record<string, OpenPoint>

/** A point that the sandbox simulates. */
export type OpenPointName = keyof typeof openPoints

/** A reading of a point. */
export type Reading<P extends OpenPointName> = keyof (typeof openPoints)[P]['readings'] & string

/** The reading that the sandbox behaves by, for each point. */
export type Readings = { [P in OpenPointName]: Reading<P> }

export const openPointNames = Object.keys(openPoints) as OpenPointName[]

/** The readings of a point; the first is the default. */
export const readingsOf = (point: OpenPointName): string[] => Object.keys(openPoints[point].readings)

/** @throws TypeError that names an unknown point or reading, and the known ones */
export function readingsWith(chosen: Readonly<Partial<Record<string, string>>>): Readings {
  const readings: Record<string, string> = Object.fromEntries(openPointNames.map(name => [name, readingsOf(name)[0]!]))
  for (const [point, reading] of Object.entries(chosen)) {
    if (reading === undefined) continue
    if (!Object.hasOwn(openPoints, point)) {
      throw new TypeError(`there is no open point "${point}"; the points are ${openPointNames.join(', ')}`)
    }
    const known = readingsOf(point as OpenPointName)
    if (!known.includes(reading)) throw new TypeError(`the reading of ${point} must be one of ${known.join(', ')}`)
    readings[point] = reading
  }
  return readings as Readings
}
