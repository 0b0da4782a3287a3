import { z } from 'zod'
import { text } from './fields.ts'
import { must } from './messages.ts'

/** What each viber_type requires (specification: rcs+viber+sms). */
const requirements = {
  text: ['viber_message'],
  image: ['viber_image'],
  'text+link': ['viber_message', 'viber_link', 'viber_button'],
  'text+image+link': ['viber_message', 'viber_image', 'viber_link', 'viber_button'],
  carousel: ['viber_message', 'viber_carousel'],
} as const

export type ViberType = keyof typeof requirements
type ViberField = (typeof requirements)[ViberType][number]

const viberTypes = Object.keys(requirements) as ViberType[]

export const viberType = z.enum(viberTypes, { error: must(`one of ${viberTypes.join(', ')}`) })

/** Which fields of a slide are required is not shown: only their types are checked. */
const slide = z.looseObject(
  {
    caption: text.optional(),
    image: text.optional(),
    button: text.optional(),
    url: text.optional(),
    button2: text.optional(),
    url2: text.optional(),
  },
  { error: must('an object') },
)

const slides = must('a list of 2 to 5 slides')

/** The content of a Viber message; what is required depends on viber_type. */
export const viberContent = {
  viber_message: text.optional(),
  viber_image: text.optional(),
  viber_link: text.optional(),
  viber_button: text.optional(),
  viber_carousel: z.array(slide, { error: slides }).min(2, { error: slides }).max(5, { error: slides }).optional(),
}

/** Unit and bounds are not shown; the vendor's documentation says seconds, at least 60, and 172800 when left out. */
export const viberLifetime = z.number({ error: must('a number') })

/**
 * A check that the fields which the viber_type requires are there. `shown` narrows it to those that the operation's own
 * section requires.
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
