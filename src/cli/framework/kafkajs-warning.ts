/** Hides a warning of kafkajs, which sets timers in the past: users can do nothing about it. Import it once a process. */
const [printWarning] = process.listeners('warning')
process.removeAllListeners('warning').on('warning', warning => {
  if (warning.name !== 'TimeoutNegativeWarning') printWarning?.(warning)
})
