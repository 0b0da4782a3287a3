// Made by scripts/generate-fields.ts from the operations (src/protocol/operations): change those and run it again.
import type { z } from 'zod'
import type { OperationType } from './operation.ts'
import type { operations } from './registry.ts'

type Inferred<T extends OperationType> = z.infer<(typeof operations)[T]['schema']>

/** The fields of each operation, without its type; additional properties pass through. */
export interface OperationFields {
  'balance': {
    [name: string]: unknown
  }
  'call/otp': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'call/otp'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'call/otp'>['phone']
    [name: string]: unknown
  }
  'hlr': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'hlr'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'hlr'>['phone']
    [name: string]: unknown
  }
  'pipeline': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id?: Inferred<'pipeline'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'pipeline'>['phone']
    /** The channels, in the order in which they are tried. It is a list of at least one of voice, telegram, viber, rcs, sms, whatsapp, none of them twice. */
    pipeline: Inferred<'pipeline'>['pipeline']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'pipeline'>['hook']
    /** What is sent by sms; required when `pipeline` names it. */
    sms?: {
      /** Text of the message. */
      message: NonNullable<Inferred<'pipeline'>['sms']>['message']
      /** Sender signature of the message. */
      signature: NonNullable<Inferred<'pipeline'>['sms']>['signature']
      [name: string]: unknown
    } | undefined
    /** What is sent by telegram; required when `pipeline` names it. */
    telegram?: {
      /** Text of the message. */
      message: NonNullable<Inferred<'pipeline'>['telegram']>['message']
      [name: string]: unknown
    } | undefined
    /** What is sent by viber; required when `pipeline` names it. */
    viber?: {
      /** Text of the message. */
      message: NonNullable<Inferred<'pipeline'>['viber']>['message']
      /** Sender signature of the message. */
      signature: NonNullable<Inferred<'pipeline'>['viber']>['signature']
      /** Variant of the Viber message, such as text. */
      type: NonNullable<Inferred<'pipeline'>['viber']>['type']
      [name: string]: unknown
    } | undefined
    /** What is spoken by voice; required when `pipeline` names it. It is an object with gender (male or female), language and name, in itself or in a nested voice. */
    voice?: {
      /** Text of the message. */
      message?: NonNullable<Inferred<'pipeline'>['voice']>['message']
      /** Gender of the voice. It is male or female. */
      gender?: NonNullable<Inferred<'pipeline'>['voice']>['gender']
      /** Language tag of the voice. */
      language?: NonNullable<Inferred<'pipeline'>['voice']>['language']
      /** Name of the voice model. */
      name?: NonNullable<Inferred<'pipeline'>['voice']>['name']
      /** The voice that speaks. */
      voice?: {
        /** Gender of the voice. It is male or female. */
        gender: NonNullable<NonNullable<Inferred<'pipeline'>['voice']>['voice']>['gender']
        /** Language tag of the voice. */
        language: NonNullable<NonNullable<Inferred<'pipeline'>['voice']>['voice']>['language']
        /** Name of the voice model. */
        name: NonNullable<NonNullable<Inferred<'pipeline'>['voice']>['voice']>['name']
        [name: string]: unknown
      } | undefined
      /** Whether the digit that the recipient presses comes back as `reply` of the callback. */
      dtmf?: NonNullable<Inferred<'pipeline'>['voice']>['dtmf']
      [name: string]: unknown
    } | undefined
    /** What is sent by whatsapp; required when `pipeline` names it. */
    whatsapp?: {
      /** Text of the message. */
      message?: NonNullable<Inferred<'pipeline'>['whatsapp']>['message']
      /** Sender signature of the message. */
      signature?: NonNullable<Inferred<'pipeline'>['whatsapp']>['signature']
      [name: string]: unknown
    } | undefined
    /** What is sent by rcs. */
    rcs?: {
      /** Text of the message. */
      message?: NonNullable<Inferred<'pipeline'>['rcs']>['message']
      /** Sender signature of the message. */
      signature?: NonNullable<Inferred<'pipeline'>['rcs']>['signature']
      [name: string]: unknown
    } | undefined
    [name: string]: unknown
  }
  'rcs': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'rcs'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'rcs'>['phone']
    /** Text of the RCS message. */
    rcs_message: Inferred<'rcs'>['rcs_message']
    /** Sender signature of the RCS message. */
    rcs_signature: Inferred<'rcs'>['rcs_signature']
    /** Link to the image. */
    rcs_image: Inferred<'rcs'>['rcs_image']
    /** Link followed after pressing the button. */
    rcs_link: Inferred<'rcs'>['rcs_link']
    /** Caption of the button. */
    rcs_button: Inferred<'rcs'>['rcs_button']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'rcs'>['hook']
    /** How long the message may be tried; 172800 when left out. It is a number of seconds, at least 60. */
    rcs_lifetime?: Inferred<'rcs'>['rcs_lifetime']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'rcs'>['short_link']
    [name: string]: unknown
  }
  'rcs+sms': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'rcs+sms'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'rcs+sms'>['phone']
    /** Text of the RCS message. */
    rcs_message: Inferred<'rcs+sms'>['rcs_message']
    /** Sender signature of the RCS message. */
    rcs_signature: Inferred<'rcs+sms'>['rcs_signature']
    /** Link to the image. */
    rcs_image: Inferred<'rcs+sms'>['rcs_image']
    /** Link followed after pressing the button. */
    rcs_link: Inferred<'rcs+sms'>['rcs_link']
    /** Caption of the button. */
    rcs_button: Inferred<'rcs+sms'>['rcs_button']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'rcs+sms'>['hook']
    /** How long the message may be tried; 172800 when left out. It is a number of seconds, at least 60. */
    rcs_lifetime?: Inferred<'rcs+sms'>['rcs_lifetime']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'rcs+sms'>['short_link']
    /** Text of the SMS. */
    sms_message: Inferred<'rcs+sms'>['sms_message']
    /** Sender signature (alpha-name) of the SMS. */
    sms_signature: Inferred<'rcs+sms'>['sms_signature']
    [name: string]: unknown
  }
  'rcs+viber+sms': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'rcs+viber+sms'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'rcs+viber+sms'>['phone']
    /** Text of the RCS message. */
    rcs_message: Inferred<'rcs+viber+sms'>['rcs_message']
    /** Sender signature of the RCS message. */
    rcs_signature: Inferred<'rcs+viber+sms'>['rcs_signature']
    /** Link to the image. */
    rcs_image: Inferred<'rcs+viber+sms'>['rcs_image']
    /** Link followed after pressing the button. */
    rcs_link: Inferred<'rcs+viber+sms'>['rcs_link']
    /** Caption of the button. */
    rcs_button: Inferred<'rcs+viber+sms'>['rcs_button']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'rcs+viber+sms'>['hook']
    /** How long the message may be tried; 172800 when left out. It is a number of seconds, at least 60. */
    rcs_lifetime?: Inferred<'rcs+viber+sms'>['rcs_lifetime']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'rcs+viber+sms'>['short_link']
    /** Text of the SMS. */
    sms_message: Inferred<'rcs+viber+sms'>['sms_message']
    /** Sender signature (alpha-name) of the SMS. */
    sms_signature: Inferred<'rcs+viber+sms'>['sms_signature']
    /** Sender signature of the Viber message. */
    viber_signature: Inferred<'rcs+viber+sms'>['viber_signature']
    /** Variant of the Viber message; it decides which viber_ fields are required. It is one of text, image, text+link, text+image+link, carousel. */
    viber_type: Inferred<'rcs+viber+sms'>['viber_type']
    /** Text of the Viber message. */
    viber_message?: Inferred<'rcs+viber+sms'>['viber_message']
    /** Link to the image. */
    viber_image?: Inferred<'rcs+viber+sms'>['viber_image']
    /** Link followed after pressing the button. */
    viber_link?: Inferred<'rcs+viber+sms'>['viber_link']
    /** Caption of the button. */
    viber_button?: Inferred<'rcs+viber+sms'>['viber_button']
    /** Slides of the carousel, 2 to 5. It is a list of 2 to 5 slides. */
    viber_carousel?: Inferred<'rcs+viber+sms'>['viber_carousel']
    [name: string]: unknown
  }
  'sender': {
    [name: string]: unknown
  }
  'sms': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'sms'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'sms'>['phone']
    /** Text of the SMS. */
    sms_message: Inferred<'sms'>['sms_message']
    /** Sender signature (alpha-name) of the SMS. */
    sms_signature: Inferred<'sms'>['sms_signature']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'sms'>['hook']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'sms'>['short_link']
    /** How long the message may be tried; 172800 when left out. It is a number of seconds from 3600 to 259200. */
    sms_lifetime?: Inferred<'sms'>['sms_lifetime']
    /** Whether a link to unsubscribe is added, according to the tariff. */
    unsubscribe_link?: Inferred<'sms'>['unsubscribe_link']
    [name: string]: unknown
  }
  'status': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'status'>['id']
    [name: string]: unknown
  }
  'telegram': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'telegram'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'telegram'>['phone']
    /** The one-time password. It is text of 4 to 8 digits. */
    message: Inferred<'telegram'>['message']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'telegram'>['hook']
    /** How long the message may be tried; 172800 when left out. It is a number of seconds, at least 60. */
    telegram_lifetime?: Inferred<'telegram'>['telegram_lifetime']
    [name: string]: unknown
  }
  'template/create': {
    /** Text of the template. */
    template: Inferred<'template/create'>['template']
    /** Name of the template. */
    name?: Inferred<'template/create'>['name']
    [name: string]: unknown
  }
  'template/delete': {
    /** Identifier of the template. */
    id?: Inferred<'template/delete'>['id']
    /** Exact text of the template. */
    template?: Inferred<'template/delete'>['template']
    [name: string]: unknown
  }
  'template/list': {
    [name: string]: unknown
  }
  'template/viber/create': {
    /** Text of the template. */
    template: Inferred<'template/viber/create'>['template']
    /** Sender signature of the template. */
    signature?: Inferred<'template/viber/create'>['signature']
    [name: string]: unknown
  }
  'template/viber/delete': {
    /** Identifier of the template. It is a whole number. */
    id?: Inferred<'template/viber/delete'>['id']
    /** Exact text of the template. */
    template?: Inferred<'template/viber/delete'>['template']
    [name: string]: unknown
  }
  'template/viber/list': {
    [name: string]: unknown
  }
  'viber': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'viber'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'viber'>['phone']
    /** Variant of the Viber message; it decides which viber_ fields are required. It is one of text, image, text+link, text+image+link, carousel. */
    viber_type: Inferred<'viber'>['viber_type']
    /** Sender signature of the Viber message. */
    viber_signature?: Inferred<'viber'>['viber_signature']
    /** Text of the Viber message. */
    viber_message?: Inferred<'viber'>['viber_message']
    /** Link to the image. */
    viber_image?: Inferred<'viber'>['viber_image']
    /** Link followed after pressing the button. */
    viber_link?: Inferred<'viber'>['viber_link']
    /** Caption of the button. */
    viber_button?: Inferred<'viber'>['viber_button']
    /** Slides of the carousel, 2 to 5. It is a list of 2 to 5 slides. */
    viber_carousel?: Inferred<'viber'>['viber_carousel']
    /** How long the message may be tried; the specification names neither unit nor bounds. It is a number. */
    viber_lifetime?: Inferred<'viber'>['viber_lifetime']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'viber'>['hook']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'viber'>['short_link']
    [name: string]: unknown
  }
  'viber+sms': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'viber+sms'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'viber+sms'>['phone']
    /** Text of the SMS. */
    sms_message?: Inferred<'viber+sms'>['sms_message']
    /** Sender signature (alpha-name) of the SMS. */
    sms_signature?: Inferred<'viber+sms'>['sms_signature']
    /** Variant of the Viber message, such as text. */
    viber_type?: Inferred<'viber+sms'>['viber_type']
    /** Sender signature of the Viber message. */
    viber_signature?: Inferred<'viber+sms'>['viber_signature']
    /** Text of the Viber message. */
    viber_message?: Inferred<'viber+sms'>['viber_message']
    /** Link to the image. */
    viber_image?: Inferred<'viber+sms'>['viber_image']
    /** Link followed after pressing the button. */
    viber_link?: Inferred<'viber+sms'>['viber_link']
    /** Caption of the button. */
    viber_button?: Inferred<'viber+sms'>['viber_button']
    /** Slides of the carousel, 2 to 5. It is a list of 2 to 5 slides. */
    viber_carousel?: Inferred<'viber+sms'>['viber_carousel']
    /** How long the message may be tried; the specification names neither unit nor bounds. It is a number. */
    viber_lifetime?: Inferred<'viber+sms'>['viber_lifetime']
    /** Whether links in the text are shortened and tracked, according to the tariff. */
    short_link?: Inferred<'viber+sms'>['short_link']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'viber+sms'>['hook']
    [name: string]: unknown
  }
  'voice': {
    /** The caller's own unique id of the message. It is a whole number from 1 to 9223372036854775807. */
    id: Inferred<'voice'>['id']
    /** The recipient's number. It is a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, at most 15 digits. */
    phone: Inferred<'voice'>['phone']
    /** Text to be spoken. */
    message?: Inferred<'voice'>['message']
    /** The voice that speaks. */
    voice?: {
      /** Gender of the voice. It is male or female. */
      gender?: NonNullable<Inferred<'voice'>['voice']>['gender']
      /** Language tag of the voice. */
      language?: NonNullable<Inferred<'voice'>['voice']>['language']
      /** Name of the voice model. */
      name?: NonNullable<Inferred<'voice'>['voice']>['name']
      [name: string]: unknown
    } | undefined
    /** Whether the digit that the recipient presses comes back as `reply` of the callback. */
    dtmf?: Inferred<'voice'>['dtmf']
    /** The address that the delivery status is POSTed to. It is an http or https URL. */
    hook?: Inferred<'voice'>['hook']
    [name: string]: unknown
  }
}
