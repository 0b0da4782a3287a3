import { z } from 'zod'
import { object, text } from './fields.ts'
import { expecting } from './messages.ts'

/** Required fields by viber_type (specification: rcs+viber+sms). */
const requirements = {
  text: ['viber_message'],
  image: ['viber_image'],
  'text+link': ['viber_message', 'viber_link', 'viber_button'],
  'text+image+link': ['viber_message', 'viber_image', 'viber_link', 'viber_button'],
  carousel: ['viber_message', 'viber_carousel'],
} as const

/** A value of `viber_type`. */
export type ViberType = keyof typeof requirements
type ViberField = (typeof requirements)[ViberType][number]

const viberTypes = Object.keys(requirements) as ViberType[]

export const viberTypeMeaning = 'Variant of the Viber message, such as text.'

export const viberType = expecting(`one of ${viberTypes.join(', ')}`, error => z.enum(viberTypes, { error })).describe(
  'Variant of the Viber message; it decides which viber_ fields are required.',
)

export const viberSignature = text.describe('Sender signature of the Viber message.')

/** The specification does not name a slide's required fields; only types are validated. */
const slide = object({
  caption: text.describe('Text under the image.').optional(),
  image: text.describe('Link to the image.').optional(),
  button: text.describe('Caption of the button.').optional(),
  url: text.describe('Link of the button.').optional(),
  button2: text.describe('Caption of the additional button.').optional(),
  url2: text.describe('Link of the additional button.').optional(),
})

const slides = expecting('a list of 2 to 5 slides', error =>
  z.array(slide, { error }).min(2, { error }).max(5, { error }),
)

/** The content of a Viber message; viber_type decides what is required. */
export const viberContent = {
  viber_message: text.describe('Text of the Viber message.').optional(),
  viber_image: text.describe('Link to the image.').optional(),
  viber_link: text.describe('Link followed after pressing the button.').optional(),
  viber_button: text.describe('Caption of the button.').optional(),
  viber_carousel: slides.describe('Slides of the carousel, 2 to 5.').optional(),
}

/** Unit and bounds are unspecified; the vendor's documentation says seconds, at least 60, default 172800. */
export const viberLifetime = expecting('a whole number', error => z.int({ error })).describe(
  'How long the message may be tried; the specification names neither unit nor bounds.',
)

/**
 * Checks for the fields that the viber_type requires. `shown` limits the check to those that the operation's own section
 * names.
 */
export const requiresViberContent =
  (shown: readonly ViberField[] = Object.keys(viberContent) as ViberField[]) =>
  ({ value, issues }: z.core.ParsePayload<{ viber_type: ViberType } & { [field in ViberField]?: unknown }>): void => {
    for (const field of requirements[value.viber_type]) {
      if (value[field] !== undefined || !shown.includes(field)) continue
      const message = `${field} is required when viber_type is ${value.viber_type}`
      issues.push({ code: 'custom', path: [field], input: undefined, message })
    }
  }
