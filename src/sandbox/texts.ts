/**
 * The error texts of the sandbox. The first four are the specification's own (Errors); the next four are known from
 * public clients and from the gateway's XML transport; for the rest the specification shows no text.
 */
export const texts = {
  accessDenied: 'Access denied',
  alphaName: 'Error in Alpha-name',
  operator: 'Operator not supported',
  type: 'Invalid message type',
  money: 'Not enough money',
  throttle: 'THROTTLE',
  duplicate: 'DUPLICATE',
  phone: 'Please enter valid receiver phone number',
  smsText: 'Please enter SMS text',
  notFound: 'Message not found',
  unavailable: 'Service unavailable',
  method: 'Invalid request: use POST',
  contentType: 'Invalid request: Content-Type must be application/json',
  json: 'Invalid request: the body is not JSON',
  envelope: 'Invalid request: auth (string) and data (array of at least 1 operation) are required',
  tooManyOperations: 'Invalid request: too many operations',
} as const
