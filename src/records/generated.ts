// Made by scripts/generate-types.ts from schemas/*.avsc: change those and run npm run generate.

/** Something to be sent to one phone number, or looked up about it. */
export interface SendCommand {
  /** The caller's own unique message id, 1 to 9223372036854775807. It is unique per account for ever: a new try needs a new id. */
  id: bigint
  /** The recipient's number: digits only, international format, no plus sign. */
  phone: number
  /** What to send. The record chosen is the gateway's type; its fields carry the gateway's own names. */
  message: { 'io.busgate.Sms': Sms }
    | { 'io.busgate.Viber': Viber }
    | { 'io.busgate.ViberSms': ViberSms }
    | { 'io.busgate.Rcs': Rcs }
    | { 'io.busgate.RcsSms': RcsSms }
    | { 'io.busgate.RcsViberSms': RcsViberSms }
    | { 'io.busgate.Telegram': Telegram }
    | { 'io.busgate.Voice': Voice }
    | { 'io.busgate.Pipeline': Pipeline }
    | { 'io.busgate.CallOtp': CallOtp }
    | { 'io.busgate.Hlr': Hlr }
  /** Which configured gateway account sends it. */
  account: string
  /** The command is never sent after this instant (milliseconds since 1970, UTC). Null: only the maximum age applies. */
  deadline: number | null
  /** What to do when nobody can tell whether it was sent. */
  delivery: SendCommandDelivery
  /** A callback address of the caller's own. Null: busgate's receiver is used where the type accepts one. */
  hook: string | null
  /** The caller's own mark, carried to the results, and to each status event whose callback address had room for it. */
  correlationId: string | null
  /** The caller's own customer or department, carried likewise. */
  tenant: string | null
  /** The caller's own campaign, carried likewise. */
  campaign: string | null
  /** Additional properties of the operation object, each value a JSON text. The names type, id, phone, hook, auth, data and __proto__ and the fields of the message are refused, but for those that are objects (voice, the stages of a pipeline): one that is null may be given here as a whole, and to another one its further fields are added. */
  extra: Record<string, string>
}

/** An SMS (type sms). */
export interface Sms {
  /** Text of the SMS. */
  sms_message: string
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
  /** How long the message may be tried, in seconds: 3600 to 259200; the gateway takes 172800 when null. */
  sms_lifetime: number | null
  /** Whether a link to unsubscribe is added, according to the tariff. */
  unsubscribe_link: boolean | null
}

/** A Viber message (type viber). Which of message, image, link and signature a variant requires is the gateway's to say: it leaves that open. */
export interface Viber {
  /** Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required. */
  viber_type: string
  /** Sender signature of the Viber message. */
  viber_signature: string | null
  /** Text of the Viber message. */
  viber_message: string | null
  /** Link to the image. */
  viber_image: string | null
  /** Link followed after pressing the button. */
  viber_link: string | null
  /** Caption of the button. Required when viber_type is text+link or text+image+link. */
  viber_button: string | null
  /** Slides of the carousel, 2 to 5. Required when viber_type is carousel. */
  viber_carousel: ViberSlide[] | null
  /** How long the message may be tried, in seconds: the gateway names neither bounds nor default. */
  viber_lifetime: number | null
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
}

/** A slide of a Viber carousel. Which fields are required is the gateway's to say: it leaves that open. */
export interface ViberSlide {
  /** Text under the image. */
  caption: string | null
  /** Link to the image. */
  image: string | null
  /** Caption of the button. */
  button: string | null
  /** Link of the button. */
  url: string | null
  /** Caption of the additional button. */
  button2: string | null
  /** Link of the additional button. */
  url2: string | null
}

/** A Viber message with an SMS to fall back to (type viber+sms). Which fields are required is the gateway's to say: it leaves that open. */
export interface ViberSms {
  /** Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required. */
  viber_type: string | null
  /** Sender signature of the Viber message. */
  viber_signature: string | null
  /** Text of the Viber message. */
  viber_message: string | null
  /** Link to the image. */
  viber_image: string | null
  /** Link followed after pressing the button. */
  viber_link: string | null
  /** Caption of the button. */
  viber_button: string | null
  /** How long the message may be tried, in seconds: the gateway does not name the unit nor the bounds here; seconds everywhere else. */
  viber_lifetime: number | null
  /** Text of the SMS. */
  sms_message: string | null
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string | null
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
}

/** An RCS message (type rcs). */
export interface Rcs {
  /** Text of the RCS message. */
  rcs_message: string
  /** Sender signature of the RCS message. */
  rcs_signature: string
  /** Link to the image. */
  rcs_image: string
  /** Link followed after pressing the button. */
  rcs_link: string
  /** Caption of the button. */
  rcs_button: string
  /** How long the message may be tried, in seconds: 60 or more; the gateway takes 172800 when null. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
}

/** An RCS message with an SMS to fall back to (type rcs+sms). */
export interface RcsSms {
  /** Text of the RCS message. */
  rcs_message: string
  /** Sender signature of the RCS message. */
  rcs_signature: string
  /** Link to the image. */
  rcs_image: string
  /** Link followed after pressing the button. */
  rcs_link: string
  /** Caption of the button. */
  rcs_button: string
  /** Text of the SMS. */
  sms_message: string
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string
  /** How long the message may be tried, in seconds: 60 or more; the gateway takes 172800 when null. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
}

/** An RCS message with Viber and then an SMS to fall back to (type rcs+viber+sms). */
export interface RcsViberSms {
  /** Text of the RCS message. */
  rcs_message: string
  /** Sender signature of the RCS message. */
  rcs_signature: string
  /** Link to the image. */
  rcs_image: string
  /** Link followed after pressing the button. */
  rcs_link: string
  /** Caption of the button. */
  rcs_button: string
  /** Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required. */
  viber_type: string
  /** Sender signature of the Viber message. */
  viber_signature: string
  /** Text of the Viber message. Required when viber_type is text, text+link, text+image+link or carousel. */
  viber_message: string | null
  /** Link to the image. Required when viber_type is image or text+image+link. */
  viber_image: string | null
  /** Link followed after pressing the button. Required when viber_type is text+link or text+image+link. */
  viber_link: string | null
  /** Caption of the button. Required when viber_type is text+link or text+image+link. */
  viber_button: string | null
  /** Slides of the carousel, 2 to 5. Required when viber_type is carousel. */
  viber_carousel: RcsViberSmsSlide[] | null
  /** Text of the SMS. */
  sms_message: string
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string
  /** How long the message may be tried, in seconds: 60 or more; the gateway takes 172800 when null. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, according to the tariff. */
  short_link: boolean | null
}

/** A slide of a Viber carousel. Which fields are required is the gateway's to say: it leaves that open. */
export interface RcsViberSmsSlide {
  /** Text under the image. */
  caption: string | null
  /** Link to the image. */
  image: string | null
  /** Caption of the button. */
  button: string | null
  /** Link of the button. */
  url: string | null
  /** Caption of the additional button. */
  button2: string | null
  /** Link of the additional button. */
  url2: string | null
}

/** A one-time password by Telegram (type telegram). */
export interface Telegram {
  /** The one-time password: 4 to 8 digits. */
  message: string
  /** How long the message may be tried, in seconds: 60 or more; the gateway takes 172800 when null. */
  telegram_lifetime: number | null
}

/** A voice call that speaks a text (type voice). Which fields are required is the gateway's to say: it leaves that open. */
export interface Voice {
  /** Text to be spoken. */
  message: string | null
  /** The voice that speaks the text. */
  voice: VoiceVoice | null
  /** Whether a digit entered by the recipient is collected; it comes back as reply of a status event. */
  dtmf: boolean | null
}

/** The voice that speaks the text. */
export interface VoiceVoice {
  /** Gender of the voice: male or female. */
  gender: string | null
  /** Language tag of the voice, for example uk-UA. */
  language: string | null
  /** Name of the voice model. */
  name: string | null
}

/** Channels tried one after the other (type pipeline); the only way to send by WhatsApp. The gateway sends its statuses to the address set in the account, not to a hook. */
export interface Pipeline {
  /** Channels in the order they are tried, none twice: voice, telegram, viber, rcs, sms, whatsapp. */
  pipeline: string[]
  /** What is sent by SMS. */
  sms: PipelineSms | null
  /** What is sent by Telegram. */
  telegram: PipelineTelegram | null
  /** What is sent by Viber. */
  viber: PipelineViber | null
  /** What is spoken in a call. */
  voice: PipelineVoice | null
  /** What is sent by RCS. */
  rcs: PipelineRcs | null
  /** What is sent by WhatsApp. */
  whatsapp: PipelineWhatsapp | null
}

/** The SMS stage of a pipeline. */
export interface PipelineSms {
  /** Text of the SMS. */
  message: string
  /** Sender signature (alpha-name) of the SMS. */
  signature: string
}

/** The Telegram stage of a pipeline. */
export interface PipelineTelegram {
  /** The one-time password. */
  message: string
}

/** The Viber stage of a pipeline. */
export interface PipelineViber {
  /** Text of the Viber message. */
  message: string
  /** Sender signature of the Viber message. */
  signature: string
  /** Variant of the Viber message, for example text. */
  type: string
}

/** The voice stage of a pipeline. The gateway knows two shapes and leaves open which one applies: the three fields of the voice here, or a text with the voice nested. */
export interface PipelineVoice {
  /** Text to be spoken. */
  message: string | null
  /** The voice that speaks the text, in the nested shape. */
  voice: PipelineVoiceVoice | null
  /** Whether a digit entered by the recipient is collected. */
  dtmf: boolean | null
  /** Gender of the voice, in the flat shape: male or female. */
  gender: string | null
  /** Language tag of the voice, in the flat shape. */
  language: string | null
  /** Name of the voice model, in the flat shape. */
  name: string | null
}

/** The voice that speaks the text. */
export interface PipelineVoiceVoice {
  /** Gender of the voice: male or female. */
  gender: string | null
  /** Language tag of the voice, for example uk-UA. */
  language: string | null
  /** Name of the voice model. */
  name: string | null
}

/** The RCS stage of a pipeline. */
export interface PipelineRcs {
  /** Text of the RCS message. */
  message: string | null
  /** Sender signature of the RCS message. */
  signature: string | null
}

/** The WhatsApp stage of a pipeline. The gateway checks neither field: a message without a signature is accepted and charged. */
export interface PipelineWhatsapp {
  /** Text of the WhatsApp message. */
  message: string | null
  /** The registered sender name. */
  signature: string | null
}

/** A call from a number whose last four digits are the one-time password (type call/otp). The password and the fee come back in the result. */
export interface CallOtp {
  /** A note for people who read the topic. It is never sent to the gateway. */
  comment: string | null
}

/** A look-up of a number's validity, operator and porting (type hlr). The recipient is not notified. */
export interface Hlr {
  /** A note for people who read the topic. It is never sent to the gateway. */
  comment: string | null
}

/** What to do when nobody can tell whether the message was sent. DEFAULT: as configured for the type. AT_MOST_ONCE: never send again. AT_LEAST_ONCE: send again under the same id. Without a default on purpose: an unknown policy must fail. */
export type SendCommandDelivery = 'DEFAULT' | 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'

/** What became of a command record. Each record ends with exactly one final result; one that is not final (IN_DOUBT) can come before it. An id that came in two records has two final results. */
export interface SendResult {
  /** Id of the command. */
  id: bigint
  /** The gateway's type, for example sms or viber+sms. */
  type: string
  /** The gateway account of the command. */
  account: string
  /** What became of the command. */
  outcome: SendResultOutcome
  /** Whether no other result of this command record (commandTopic, commandPartition, commandOffset) follows. Of an id that came twice the later record ends as DUPLICATE, which is final for that record and says nothing of the id. */
  final: boolean
  /** Identifier that the gateway gave to the message. */
  msgId: string | null
  /** Number of message parts billed. */
  parts: number | null
  /** Why it was not sent, or not known to be: ACCESS_DENIED, SENDER_INVALID, OPERATOR_UNSUPPORTED, TYPE_INVALID, THROTTLED, INSUFFICIENT_FUNDS, DUPLICATE_ID, VALIDATION, DEADLINE, MAX_AGE, WITHDRAWN, RESPONSE_LOST, ATTEMPTS_EXHAUSTED or REJECTED (any other refusal). More may follow. */
  errorCode: string | null
  /** The gateway's own text, or what is wrong with the command and in which field; also what had to be left out of this result, because the whole was larger than the topic takes. */
  error: string | null
  /** The one-time password of a call/otp, with its leading zeros. */
  code: string | null
  /** Fee of a call/otp, in the account's currency. */
  price: number | null
  /** The answer to an hlr. */
  hlr: SendResultHlr | null
  /** JSON text of whatever else the data of the gateway's answer held, and of what could not be read as the field that it belongs to. */
  payload: string | null
  /** How many requests were decided for this very command, or left it in doubt. A request that was refused as a whole, throttled, or never reached the gateway sent nothing and is not counted. */
  attempts: number
  /** Topic of the command. */
  commandTopic: string
  /** Partition of the command. */
  commandPartition: number
  /** Offset of the command. */
  commandOffset: number
  /** When the gateway was last asked to send it (milliseconds since 1970, UTC). Null: it was never sent. */
  sentAt: number | null
  /** When this result was decided (milliseconds since 1970, UTC). */
  completedAt: number
  /** The caller's own mark, as the command carried it. */
  correlationId: string | null
  /** The caller's own customer or department, as the command carried it. */
  tenant: string | null
  /** The campaign, as the command carried it. */
  campaign: string | null
  /** Whether the message had a callback address of its own. Only where it is false do unverified status events count. Null: not known. False for call/otp and hlr, of which no status comes. */
  hooked: boolean | null
  /** When the command was appended to its topic: the timestamp of its record (milliseconds since 1970, UTC). Null: its record had none. */
  commandAt: number | null
  /** Country of the recipient's number by its prefix, two letters of ISO 3166. Null: the prefix is of no country, or the command could not be read. */
  country: string | null
}

/** What became of a command. SENT: the gateway took it. REJECTED: the gateway refused it. INVALID: never sent, the command breaks the interface. EXPIRED: never sent, too late. DUPLICATE: this record was not sent, its id was seen before; it says nothing of what became of the id. IN_DOUBT: perhaps sent, a final result follows. UNRESOLVED: perhaps sent, nobody could tell. UNKNOWN: newer than the reader. */
export type SendResultOutcome = 'SENT' | 'REJECTED' | 'INVALID' | 'EXPIRED' | 'DUPLICATE' | 'IN_DOUBT' | 'UNRESOLVED' | 'UNKNOWN'

/** The answer to an hlr. What the gateway leaves out is null. */
export interface SendResultHlr {
  /** The number that was looked up: digits only, international format. */
  phone: number
  /** Status of the look-up, as the gateway wrote it. */
  status: string | null
  /** Subscriber identity, 15 digits as a rule. */
  imsi: string | null
  /** Country and network code. Null where it is no number, or begins with a zero: then payload holds it. */
  mccmnc: number | null
  /** Whether the number was ported to another operator. */
  ported: boolean | null
  /** The networks of the number. */
  network: SendResultHlrNetwork | null
}

/** The networks of a number. */
export interface SendResultHlrNetwork {
  /** The network that issued the number. */
  origin: SendResultHlrOperator | null
  /** The network that the number was ported to. */
  ported: SendResultHlrOperator | null
}

/** An operator's network. */
export interface SendResultHlrOperator {
  /** Name of the network. */
  name: string | null
  /** Number prefix of the network. */
  prefix: number | null
  /** Country of the network. */
  country: SendResultHlrCountry | null
}

/** The country of a network. */
export interface SendResultHlrCountry {
  /** Name of the country. */
  name: string | null
  /** Calling code of the country. */
  prefix: number | null
}

/** A delivery status of a message that was sent. Several events of one message can come, also out of order and more than once; one that comes again is equal in every field but receivedAt. */
export interface StatusEvent {
  /** Id of the command. */
  id: bigint
  /** Identifier that the gateway gave to the message. */
  msgId: string | null
  /** The gateway account of the command. */
  account: string
  /** Channel or type, as the gateway wrote it, for example sms. */
  type: string
  /** Status, as the gateway wrote it, for example DELIVERED; empty where it wrote none. */
  status: string
  /** What the status means. */
  state: StatusEventState
  /** Whether the message does not leave this state any more. */
  final: boolean
  /** True when the message was delivered or read, as the gateway says. Null: it was not said. */
  success: boolean | null
  /** Reason of a refusal, as the gateway wrote it; also what had to be left out of this event, because the whole was larger than the topic takes. */
  error: string | null
  /** Where the status came from. */
  source: StatusEventSource
  /** Whether the address that was called, or the question that was asked, names this very message. False: only the body says so. */
  verified: boolean
  /** When the status changed, as the gateway says (milliseconds since 1970, UTC). Null: it was not said, or not as an ISO 8601 date-time with an offset from UTC; then extra holds it as it came. */
  updatedAt: number | null
  /** When busgate learnt of it (milliseconds since 1970, UTC). */
  receivedAt: number
  /** Digit that the recipient of a voice call entered. */
  reply: string | null
  /** Duration of a voice call, in seconds. */
  duration: number | null
  /** Identifier of the request on the asynchronous interface. */
  requestId: string | null
  /** Replies of the recipient to the message. */
  replies: StatusEventReply[]
  /** The caller's own mark, as the command carried it; null when the address that was called did not carry it. */
  correlationId: string | null
  /** The caller's own customer or department, as the command carried it; null when the address that was called did not carry it. */
  tenant: string | null
  /** The campaign, as the command carried it; null when the address that was called did not carry it. */
  campaign: string | null
  /** Type of the command, for example viber+sms, while type is the channel that told. Null: the event came to an account's address, and only the result knows. */
  commandType: string | null
  /** Country of the recipient's number, as on the result; null when the event came to an account's address. */
  country: string | null
  /** Names the event: the same for a callback that comes again, another for each other event. For loads that may be repeated. */
  eventId: string | null
  /** JSON text of an object: whatever else the gateway said, and what could not be read as the field that it belongs to. */
  extra: string | null
}

/** What the status means. In a callback success decides; in the answer to a poll the text does, or success where the text is empty or not known. PENDING: on its way. DELIVERED: delivered, read or answered. FAILED: will not be delivered. UNKNOWN: inconclusive, or newer than the reader. */
export type StatusEventState = 'PENDING' | 'DELIVERED' | 'FAILED' | 'UNKNOWN'

/** Where a status came from. CALLBACK: the gateway called. POLL: busgate asked. UNKNOWN: newer than the reader. */
export type StatusEventSource = 'CALLBACK' | 'POLL' | 'UNKNOWN'

/** A reply of the recipient. */
export interface StatusEventReply {
  /** When the reply was written (ISO 8601), as the gateway wrote it. */
  datetime: string | null
  /** Text of the reply. */
  message: string | null
  /** A file that came with the reply. */
  media: StatusEventReplyMedia | null
}

/** A file that came with a reply. */
export interface StatusEventReplyMedia {
  /** Address of the file. */
  url: string | null
  /** Name of the file. */
  filename: string | null
  /** Size of the file, in bytes. */
  filesize: number | null
}

/** A command of which nobody can tell whether it was sent, until that is resolved. Internal: written and read by busgate. */
export interface Doubt {
  /** Command topic that the record came from. */
  topic: string
  /** Its partition. */
  partition: number
  /** Its offset. */
  offset: number
  /** When it was appended, milliseconds since 1970. */
  timestamp: number
  /** Its key. */
  key: Buffer | null
  /** Its value, untouched: a SendCommand in the Confluent wire format. */
  value: Buffer
  /** Its headers, in their order. */
  headers: DoubtHeader[]
  /** Gateway account that it was sent through. */
  account: string
  /** POSTs made so far that may have reached the gateway, 1 or more. */
  attempts: number
  /** When the last of them can have begun at the latest, milliseconds since 1970. */
  postedAt: number
  /** When the first of them can have begun at the earliest, by the clock of busgate, milliseconds since 1970; null: unknown. */
  postedSince: number | null
  /** Why nobody can tell, e.g. timeout, reset, taken_over. */
  cause: string
  /** The command's kind of message, as the gateway names it, for when its value cannot be read. */
  type: string | null
  /** The command's correlationId, likewise. */
  correlationId: string | null
  /** The command's tenant, likewise. */
  tenant: string | null
  /** The command's campaign, likewise. */
  campaign: string | null
  /** Why the record's key and value are not here, so that the command can be asked for, but not be sent again; null: they are. */
  omitted: string | null
}

/** A header of the record; a name may stand several times. */
export interface DoubtHeader {
  /** Name of the header. */
  name: string
  /** Its bytes. */
  value: Buffer
}
