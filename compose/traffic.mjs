// Commands for `busgate send`, one JSON line each, for as long as somebody reads them. Usage: node traffic.mjs PER_SECOND
const perSecond = Number(process.argv[2])
const sms = { sms_message: 'Your order is ready', sms_signature: 'Shop' }
const viber = { viber_type: 'text', viber_message: 'Your order is ready', viber_signature: 'Shop' }
const kinds = [
  { type: 'sms', message: sms },
  { type: 'viber+sms', message: { ...viber, ...sms } },
  { type: 'telegram', message: { message: '123456' } },
  {
    type: 'pipeline',
    message: {
      pipeline: ['viber', 'sms'],
      viber: { type: 'text', message: 'Your order is ready', signature: 'Shop' },
      sms: { message: 'Your order is ready', signature: 'Shop' },
    },
  },
  { type: 'call/otp', message: {} },
]

// Numbers that films use because nobody has them. The last two digits decide what becomes of a message (docs/sandbox.md): all of it happens, but
// that the money is used up (92) and that the gateway throttles (98), which would hold up everything else.
const fates = Array.from({ length: 100 }, (_, ending) => ending).filter(ending => ending !== 92 && ending !== 98)

let made = 0
function command() {
  const n = made++
  return {
    id: Date.now() * 1000 + (n % 1000),
    phone: 1_202_555_0100 + fates[n % fates.length],
    ...kinds[n % kinds.length],
  }
}

process.stdout.on('error', () => process.exit(1))
setInterval(() => {
  const commands = Array.from({ length: perSecond }, command)
  process.stdout.write(commands.map(one => `${JSON.stringify(one)}\n`).join(''))
}, 1000)
