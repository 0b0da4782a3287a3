// Made by scripts/generate-types.ts from schemas/*.avsc: change those and run npm run generate.

/** The published schemas, as JSON. */
export const schemaTexts = {
  command: '{"type":"record","name":"SendCommand","namespace":"io.busgate","doc":"A message to one phone number, or a look-up of it.","fields":[{"name":"id","type":"long","doc":"Your id of the message, 1 to 9223372036854775807. Unique in its account for ever: to send again, use a new id."},{"name":"phone","type":"long","doc":"The recipient\'s number: 7 to 15 digits, international format, no plus sign."},{"name":"message","type":[{"type":"record","name":"Sms","doc":"An SMS (type sms).","fields":[{"name":"sms_message","type":"string","doc":"Text of the SMS."},{"name":"sms_signature","type":"string","doc":"Sender signature (alpha-name) of the SMS."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."},{"name":"sms_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds: 3600 to 259200. Null: the gateway uses 172800."},{"name":"unsubscribe_link","type":["null","boolean"],"default":null,"doc":"Whether an unsubscribe link is added, if the tariff includes it."}]},{"type":"record","name":"Viber","doc":"A Viber message (type viber). The gateway\'s specification leaves open which of message, image, link and signature a variant requires.","fields":[{"name":"viber_type","type":"string","doc":"Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required."},{"name":"viber_signature","type":["null","string"],"default":null,"doc":"Sender signature of the Viber message."},{"name":"viber_message","type":["null","string"],"default":null,"doc":"Text of the Viber message."},{"name":"viber_image","type":["null","string"],"default":null,"doc":"Link to the image."},{"name":"viber_link","type":["null","string"],"default":null,"doc":"Link followed after pressing the button."},{"name":"viber_button","type":["null","string"],"default":null,"doc":"Caption of the button. Required when viber_type is text+link or text+image+link."},{"name":"viber_carousel","type":["null",{"type":"array","items":{"type":"record","name":"ViberSlide","doc":"A slide of a Viber carousel. The gateway\'s specification leaves open which fields are required.","fields":[{"name":"caption","type":["null","string"],"default":null,"doc":"Text under the image."},{"name":"image","type":["null","string"],"default":null,"doc":"Link to the image."},{"name":"button","type":["null","string"],"default":null,"doc":"Caption of the button."},{"name":"url","type":["null","string"],"default":null,"doc":"Link of the button."},{"name":"button2","type":["null","string"],"default":null,"doc":"Caption of the additional button."},{"name":"url2","type":["null","string"],"default":null,"doc":"Link of the additional button."}]}}],"default":null,"doc":"Slides of the carousel, 2 to 5. Required when viber_type is carousel."},{"name":"viber_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds. The gateway names neither bounds nor default."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."}]},{"type":"record","name":"ViberSms","doc":"A Viber message with an SMS to fall back to (type viber+sms). The gateway\'s specification leaves open which fields are required.","fields":[{"name":"viber_type","type":["null","string"],"default":null,"doc":"Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required."},{"name":"viber_signature","type":["null","string"],"default":null,"doc":"Sender signature of the Viber message."},{"name":"viber_message","type":["null","string"],"default":null,"doc":"Text of the Viber message."},{"name":"viber_image","type":["null","string"],"default":null,"doc":"Link to the image."},{"name":"viber_link","type":["null","string"],"default":null,"doc":"Link followed after pressing the button."},{"name":"viber_button","type":["null","string"],"default":null,"doc":"Caption of the button."},{"name":"viber_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds as in other types: the gateway names neither unit nor bounds here."},{"name":"sms_message","type":["null","string"],"default":null,"doc":"Text of the SMS."},{"name":"sms_signature","type":["null","string"],"default":null,"doc":"Sender signature (alpha-name) of the SMS."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."}]},{"type":"record","name":"Rcs","doc":"An RCS message (type rcs).","fields":[{"name":"rcs_message","type":"string","doc":"Text of the RCS message."},{"name":"rcs_signature","type":"string","doc":"Sender signature of the RCS message."},{"name":"rcs_image","type":"string","doc":"Link to the image."},{"name":"rcs_link","type":"string","doc":"Link followed after pressing the button."},{"name":"rcs_button","type":"string","doc":"Caption of the button."},{"name":"rcs_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."}]},{"type":"record","name":"RcsSms","doc":"An RCS message with an SMS to fall back to (type rcs+sms).","fields":[{"name":"rcs_message","type":"string","doc":"Text of the RCS message."},{"name":"rcs_signature","type":"string","doc":"Sender signature of the RCS message."},{"name":"rcs_image","type":"string","doc":"Link to the image."},{"name":"rcs_link","type":"string","doc":"Link followed after pressing the button."},{"name":"rcs_button","type":"string","doc":"Caption of the button."},{"name":"sms_message","type":"string","doc":"Text of the SMS."},{"name":"sms_signature","type":"string","doc":"Sender signature (alpha-name) of the SMS."},{"name":"rcs_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."}]},{"type":"record","name":"RcsViberSms","doc":"An RCS message with Viber and then an SMS to fall back to (type rcs+viber+sms).","fields":[{"name":"rcs_message","type":"string","doc":"Text of the RCS message."},{"name":"rcs_signature","type":"string","doc":"Sender signature of the RCS message."},{"name":"rcs_image","type":"string","doc":"Link to the image."},{"name":"rcs_link","type":"string","doc":"Link followed after pressing the button."},{"name":"rcs_button","type":"string","doc":"Caption of the button."},{"name":"viber_type","type":"string","doc":"Variant of the Viber message: text, image, text+link, text+image+link or carousel. It decides which viber_ fields are required."},{"name":"viber_signature","type":"string","doc":"Sender signature of the Viber message."},{"name":"viber_message","type":["null","string"],"default":null,"doc":"Text of the Viber message. Required when viber_type is text, text+link, text+image+link or carousel."},{"name":"viber_image","type":["null","string"],"default":null,"doc":"Link to the image. Required when viber_type is image or text+image+link."},{"name":"viber_link","type":["null","string"],"default":null,"doc":"Link followed after pressing the button. Required when viber_type is text+link or text+image+link."},{"name":"viber_button","type":["null","string"],"default":null,"doc":"Caption of the button. Required when viber_type is text+link or text+image+link."},{"name":"viber_carousel","type":["null",{"type":"array","items":{"type":"record","name":"RcsViberSmsSlide","doc":"A slide of a Viber carousel. The gateway\'s specification leaves open which fields are required.","fields":[{"name":"caption","type":["null","string"],"default":null,"doc":"Text under the image."},{"name":"image","type":["null","string"],"default":null,"doc":"Link to the image."},{"name":"button","type":["null","string"],"default":null,"doc":"Caption of the button."},{"name":"url","type":["null","string"],"default":null,"doc":"Link of the button."},{"name":"button2","type":["null","string"],"default":null,"doc":"Caption of the additional button."},{"name":"url2","type":["null","string"],"default":null,"doc":"Link of the additional button."}]}}],"default":null,"doc":"Slides of the carousel, 2 to 5. Required when viber_type is carousel."},{"name":"sms_message","type":"string","doc":"Text of the SMS."},{"name":"sms_signature","type":"string","doc":"Sender signature (alpha-name) of the SMS."},{"name":"rcs_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800."},{"name":"short_link","type":["null","boolean"],"default":null,"doc":"Whether links in the text are shortened and tracked, if the tariff includes it."}]},{"type":"record","name":"Telegram","doc":"A one-time password by Telegram (type telegram).","fields":[{"name":"message","type":"string","doc":"The one-time password: 4 to 8 digits."},{"name":"telegram_lifetime","type":["null","int"],"default":null,"doc":"Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800."}]},{"type":"record","name":"Voice","doc":"A voice call that speaks a text (type voice). The gateway\'s specification leaves open which fields are required.","fields":[{"name":"message","type":["null","string"],"default":null,"doc":"Text to be spoken."},{"name":"voice","type":["null",{"type":"record","name":"VoiceVoice","doc":"The voice that speaks the text.","fields":[{"name":"gender","type":["null","string"],"default":null,"doc":"Gender of the voice: male or female."},{"name":"language","type":["null","string"],"default":null,"doc":"Language tag of the voice, for example uk-UA."},{"name":"name","type":["null","string"],"default":null,"doc":"Name of the voice model."}]}],"default":null,"doc":"The voice that speaks the text."},{"name":"dtmf","type":["null","boolean"],"default":null,"doc":"Whether a digit entered by the recipient is collected; it comes back as reply of a status event."}]},{"type":"record","name":"Pipeline","doc":"Channels tried one after the other (type pipeline); the only way to send by WhatsApp. The gateway sends its statuses to the address set in the account, not to a hook.","fields":[{"name":"pipeline","type":{"type":"array","items":"string"},"doc":"Channels in the order they are tried, none twice: voice, telegram, viber, rcs, sms, whatsapp."},{"name":"sms","type":["null",{"type":"record","name":"PipelineSms","doc":"The SMS stage of a pipeline.","fields":[{"name":"message","type":"string","doc":"Text of the SMS."},{"name":"signature","type":"string","doc":"Sender signature (alpha-name) of the SMS."}]}],"default":null,"doc":"What is sent by SMS."},{"name":"telegram","type":["null",{"type":"record","name":"PipelineTelegram","doc":"The Telegram stage of a pipeline.","fields":[{"name":"message","type":"string","doc":"The one-time password."}]}],"default":null,"doc":"What is sent by Telegram."},{"name":"viber","type":["null",{"type":"record","name":"PipelineViber","doc":"The Viber stage of a pipeline.","fields":[{"name":"message","type":"string","doc":"Text of the Viber message."},{"name":"signature","type":"string","doc":"Sender signature of the Viber message."},{"name":"type","type":"string","doc":"Variant of the Viber message, for example text."}]}],"default":null,"doc":"What is sent by Viber."},{"name":"voice","type":["null",{"type":"record","name":"PipelineVoice","doc":"The voice stage of a pipeline. The gateway knows two shapes and leaves open which one applies: the three fields of the voice here, or a text with the voice nested.","fields":[{"name":"message","type":["null","string"],"default":null,"doc":"Text to be spoken."},{"name":"voice","type":["null",{"type":"record","name":"PipelineVoiceVoice","doc":"The voice that speaks the text.","fields":[{"name":"gender","type":["null","string"],"default":null,"doc":"Gender of the voice: male or female."},{"name":"language","type":["null","string"],"default":null,"doc":"Language tag of the voice, for example uk-UA."},{"name":"name","type":["null","string"],"default":null,"doc":"Name of the voice model."}]}],"default":null,"doc":"The voice that speaks the text, in the nested shape."},{"name":"dtmf","type":["null","boolean"],"default":null,"doc":"Whether a digit entered by the recipient is collected."},{"name":"gender","type":["null","string"],"default":null,"doc":"Gender of the voice, in the flat shape: male or female."},{"name":"language","type":["null","string"],"default":null,"doc":"Language tag of the voice, in the flat shape."},{"name":"name","type":["null","string"],"default":null,"doc":"Name of the voice model, in the flat shape."}]}],"default":null,"doc":"What is spoken in a call."},{"name":"rcs","type":["null",{"type":"record","name":"PipelineRcs","doc":"The RCS stage of a pipeline.","fields":[{"name":"message","type":["null","string"],"default":null,"doc":"Text of the RCS message."},{"name":"signature","type":["null","string"],"default":null,"doc":"Sender signature of the RCS message."}]}],"default":null,"doc":"What is sent by RCS."},{"name":"whatsapp","type":["null",{"type":"record","name":"PipelineWhatsapp","doc":"The WhatsApp stage of a pipeline. The gateway checks neither field: a message without a signature is accepted and charged.","fields":[{"name":"message","type":["null","string"],"default":null,"doc":"Text of the WhatsApp message."},{"name":"signature","type":["null","string"],"default":null,"doc":"The registered sender name."}]}],"default":null,"doc":"What is sent by WhatsApp."}]},{"type":"record","name":"CallOtp","doc":"A call from a number whose last four digits are the one-time password (type call/otp). The password and the fee come back in the result.","fields":[{"name":"comment","type":["null","string"],"default":null,"doc":"A note for people who read the topic. It is never sent to the gateway."}]},{"type":"record","name":"Hlr","doc":"A look-up of a number\'s validity, operator and porting (type hlr). The recipient is not notified.","fields":[{"name":"comment","type":["null","string"],"default":null,"doc":"A note for people who read the topic. It is never sent to the gateway."}]},{"type":"record","name":"Sealed","doc":"A message of any type whose content only the worker can read.","fields":[{"name":"type","type":"string","doc":"The gateway\'s type of the content, such as sms or viber+sms."},{"name":"jwe","type":"string","doc":"The fields of that type\'s record in JSON, encrypted: a JWE in compact serialization (RFC 7516), alg ECDH-ES or dir, enc A256GCM. Its protected header has kid, and id, phone, account, type and, if set, hook of this command as text."}]}],"doc":"What to send. The record chosen is the gateway\'s type; its fields carry the gateway\'s own names."},{"name":"account","type":"string","doc":"Gateway account that sends it, as named in busgate\'s settings.","default":"default"},{"name":"deadline","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"The command is never sent after this instant (milliseconds since 1970, UTC). Null: only the maximum age applies."},{"name":"delivery","type":{"type":"enum","name":"SendCommandDelivery","doc":"What to do in doubt, when the message was perhaps sent. DEFAULT: as configured for the type. AT_MOST_ONCE: never send again. AT_LEAST_ONCE: send again under the same id. No default on purpose: an unknown policy must fail.","symbols":["DEFAULT","AT_MOST_ONCE","AT_LEAST_ONCE"]},"doc":"What to do in doubt, when it was perhaps sent.","default":"DEFAULT"},{"name":"hook","type":["null","string"],"default":null,"doc":"Your own callback address. Null: busgate\'s, if the type accepts one."},{"name":"correlationId","type":["null","string"],"default":null,"doc":"Your reference. Copied to results, and to status events if the callback address has room for it."},{"name":"tenant","type":["null","string"],"default":null,"doc":"Your customer or department. Copied as correlationId is."},{"name":"campaign","type":["null","string"],"default":null,"doc":"Your campaign. Copied as correlationId is."},{"name":"extra","type":{"type":"map","values":"string"},"doc":"Additional properties of the operation object, each value a JSON text. The names type, id, phone, hook, auth, data, __proto__ and those of the message\'s fields are refused, except fields that are objects (voice, the stages of a pipeline): if the message leaves one null, give the whole object here, otherwise only the fields to add.","default":{}},{"name":"notBefore","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"The command waits until this instant (milliseconds since 1970, UTC), at most commands.horizonMs ahead; its age counts from then. One in the past means now. Null: it does not wait."}]}',
  result: '{"type":"record","name":"SendResult","namespace":"io.busgate","doc":"What became of a command record. Each record that can be read ends with exactly one final result; an IN_DOUBT result, which is not final, can come before it. An id that was written in two records has two final results.","fields":[{"name":"id","type":"long","doc":"Id of the command."},{"name":"type","type":"string","doc":"The gateway\'s type, for example sms or viber+sms."},{"name":"account","type":"string","doc":"The gateway account of the command."},{"name":"outcome","type":{"type":"enum","name":"SendResultOutcome","doc":"What became of a command. SENT: the gateway accepted it. REJECTED: the gateway refused it. INVALID: not sent, the command violates the interface. EXPIRED: not sent, too late or withdrawn. DUPLICATE: this record was not sent, because its id was seen before; see the first record\'s result. IN_DOUBT: perhaps sent, a final result follows. UNRESOLVED: perhaps sent, nobody can tell. UNKNOWN: newer than the reader.","symbols":["SENT","REJECTED","INVALID","EXPIRED","DUPLICATE","IN_DOUBT","UNRESOLVED","UNKNOWN"],"default":"UNKNOWN"},"doc":"What became of the command."},{"name":"final","type":"boolean","doc":"Whether no other result of this command record (commandTopic, commandPartition, commandOffset) follows. If an id was written twice, the later record ends as DUPLICATE, which is final for that record only."},{"name":"msgId","type":["null","string"],"default":null,"doc":"The gateway\'s identifier of the message. Null: it named none, as for call/otp and hlr, or its answer was lost; or the outcome is not SENT."},{"name":"parts","type":["null","int"],"default":null,"doc":"Number of message parts billed. Null: the outcome is not SENT, the type is call/otp or hlr, or not known, as where a status proved that it was sent."},{"name":"errorCode","type":["null","string"],"default":null,"doc":"Why it was not sent, or is not known to be sent: ACCESS_DENIED, SENDER_INVALID, OPERATOR_UNSUPPORTED, TYPE_INVALID, THROTTLED, INSUFFICIENT_FUNDS, DUPLICATE_ID, VALIDATION, COUNTRY, PARTS, SEAL, DEADLINE, MAX_AGE, WITHDRAWN, RESPONSE_LOST, ATTEMPTS_EXHAUSTED or REJECTED (any other refusal). More may follow. Null: the outcome is SENT."},{"name":"error","type":["null","string"],"default":null,"doc":"The gateway\'s text, or what is wrong with the command and in which field. Also says what was left out of this result to fit the topic. Null: the outcome is SENT, or DEADLINE or MAX_AGE ended it and no request was refused before."},{"name":"code","type":["null","string"],"default":null,"doc":"The one-time password of a call/otp, with its leading zeros. Null: another type, the outcome is not SENT, or results.otpCode keeps codes out of results."},{"name":"price","type":["null","double"],"default":null,"doc":"Fee of a call/otp, in the account\'s currency. Null: another type, or the outcome is not SENT."},{"name":"hlr","type":["null",{"type":"record","name":"SendResultHlr","doc":"The answer to an hlr. Fields that the gateway leaves out are null.","fields":[{"name":"phone","type":"long","doc":"The number that was looked up: digits only, international format."},{"name":"status","type":["null","string"],"default":null,"doc":"Status of the look-up, as the gateway wrote it."},{"name":"imsi","type":["null","string"],"default":null,"doc":"Subscriber identity, usually 15 digits."},{"name":"mccmnc","type":["null","int"],"default":null,"doc":"Country and network code. Null if it is no number or begins with a zero; payload then holds it."},{"name":"ported","type":["null","boolean"],"default":null,"doc":"Whether the number was ported to another operator."},{"name":"network","type":["null",{"type":"record","name":"SendResultHlrNetwork","doc":"The networks of a number.","fields":[{"name":"origin","type":["null",{"type":"record","name":"SendResultHlrOperator","doc":"An operator\'s network.","fields":[{"name":"name","type":["null","string"],"default":null,"doc":"Name of the network."},{"name":"prefix","type":["null","long"],"default":null,"doc":"Number prefix of the network."},{"name":"country","type":["null",{"type":"record","name":"SendResultHlrCountry","doc":"The country of a network.","fields":[{"name":"name","type":["null","string"],"default":null,"doc":"Name of the country."},{"name":"prefix","type":["null","long"],"default":null,"doc":"Calling code of the country."}]}],"default":null,"doc":"Country of the network."}]}],"default":null,"doc":"The network that issued the number."},{"name":"ported","type":["null","SendResultHlrOperator"],"default":null,"doc":"The network that the number was ported to."}]}],"default":null,"doc":"The networks of the number."}]}],"default":null,"doc":"The answer to an hlr. Null: another type, the outcome is not SENT, or the answer has no valid phone: payload then holds it."},{"name":"payload","type":["null","string"],"default":null,"doc":"JSON text with all other data of the gateway\'s answer, and with values that do not fit their field. Null: there is none, or results.otpCode keeps that of a call/otp out of results."},{"name":"attempts","type":"int","doc":"Number of requests that were answered for this command, or left it in doubt. Requests that were refused as a whole, throttled, or never reached the gateway are not counted."},{"name":"commandTopic","type":"string","doc":"Topic of the command."},{"name":"commandPartition","type":"int","doc":"Partition of the command."},{"name":"commandOffset","type":"long","doc":"Offset of the command."},{"name":"sentAt","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"When it was last POSTed to the gateway (milliseconds since 1970, UTC); of a command that was in doubt, the latest time at which that POST can have begun. Null: not POSTed, or ended by DEADLINE, MAX_AGE or WITHDRAWN."},{"name":"completedAt","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"When this result was decided (milliseconds since 1970, UTC)."},{"name":"correlationId","type":["null","string"],"default":null,"doc":"The command\'s correlationId."},{"name":"tenant","type":["null","string"],"default":null,"doc":"The command\'s tenant."},{"name":"campaign","type":["null","string"],"default":null,"doc":"The command\'s campaign."},{"name":"hooked","type":["null","boolean"],"default":null,"doc":"Whether the message had its own callback address. Unverified status events count only if this is false. Null: not known. False for call/otp and hlr, which have no status."},{"name":"commandAt","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"When the command was appended to its topic: the timestamp of its record (milliseconds since 1970, UTC). Null: its record had none."},{"name":"country","type":["null","string"],"default":null,"doc":"Country of the recipient\'s number by its prefix, two letters of ISO 3166. Null: the number belongs to no country\'s numbering plan, or the command could not be read."}]}',
  status: '{"type":"record","name":"StatusEvent","namespace":"io.busgate","doc":"A delivery status of a sent message. A message can have several events, out of order and repeated; a repeated one differs in receivedAt only.","fields":[{"name":"id","type":"long","doc":"Id of the command."},{"name":"msgId","type":["null","string"],"default":null,"doc":"The gateway\'s identifier of the message. Null: the callback named none; of a poll, neither its answer nor the result did."},{"name":"account","type":"string","doc":"The gateway account of the command."},{"name":"type","type":"string","doc":"Channel or type, as the gateway wrote it, for example sms."},{"name":"status","type":"string","doc":"Status, as the gateway wrote it, for example DELIVERED; empty if it wrote none."},{"name":"state","type":{"type":"enum","name":"StatusEventState","doc":"What the status means. In a callback, success decides; in the answer to a poll, the text does, or success if the text is empty or unknown. PENDING: on its way. DELIVERED: delivered, read or answered. FAILED: will not be delivered. UNKNOWN: inconclusive, or newer than the reader.","symbols":["PENDING","DELIVERED","FAILED","UNKNOWN"],"default":"UNKNOWN"},"doc":"What the status means."},{"name":"final","type":"boolean","doc":"Whether the message stays in this state."},{"name":"success","type":["null","boolean"],"default":null,"doc":"Whether the message was delivered or read, as the gateway says. Null: it did not say."},{"name":"error","type":["null","string"],"default":null,"doc":"Reason of a refusal, as the gateway wrote it. Also says what was left out of this event to fit the topic. Null: the gateway gave none."},{"name":"source","type":{"type":"enum","name":"StatusEventSource","doc":"Where a status came from. CALLBACK: the gateway called back. POLL: busgate polled. UNKNOWN: newer than the reader.","symbols":["CALLBACK","POLL","UNKNOWN"],"default":"UNKNOWN"},"doc":"Where the status came from."},{"name":"verified","type":"boolean","doc":"Whether the event came to this message\'s own address, or answers a poll for it. False: only the callback\'s body names the message."},{"name":"updatedAt","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"When the status changed, as the gateway says (milliseconds since 1970, UTC). Null: it did not say, or not as an ISO 8601 date-time with an offset from UTC, which extra then holds."},{"name":"receivedAt","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"When busgate received it (milliseconds since 1970, UTC)."},{"name":"reply","type":["null","string"],"default":null,"doc":"Digit that the recipient of a voice call entered. Null: the gateway named none."},{"name":"duration","type":["null","double"],"default":null,"doc":"Duration of a voice call, in seconds. Null: the gateway named none."},{"name":"requestId","type":["null","string"],"default":null,"doc":"Identifier of the request on the asynchronous interface. Null: the gateway named none, as for everything that busgate\'s worker sends: it uses the synchronous one."},{"name":"replies","type":{"type":"array","items":{"type":"record","name":"StatusEventReply","doc":"A reply of the recipient.","fields":[{"name":"datetime","type":["null","string"],"default":null,"doc":"When the reply was written (ISO 8601), as the gateway wrote it."},{"name":"message","type":["null","string"],"default":null,"doc":"Text of the reply."},{"name":"media","type":["null",{"type":"record","name":"StatusEventReplyMedia","doc":"A file that came with a reply.","fields":[{"name":"url","type":["null","string"],"default":null,"doc":"Address of the file."},{"name":"filename","type":["null","string"],"default":null,"doc":"Name of the file."},{"name":"filesize","type":["null","long"],"default":null,"doc":"Size of the file, in bytes."}]}],"default":null,"doc":"A file that came with the reply."}]}},"doc":"Replies of the recipient to the message.","default":[]},{"name":"correlationId","type":["null","string"],"default":null,"doc":"The command\'s correlationId; null if the callback address did not carry it."},{"name":"tenant","type":["null","string"],"default":null,"doc":"The command\'s tenant; null if the callback address did not carry it."},{"name":"campaign","type":["null","string"],"default":null,"doc":"The command\'s campaign; null if the callback address did not carry it."},{"name":"commandType","type":["null","string"],"default":null,"doc":"Type of the command, for example viber+sms; type is the channel that reported. Null: the event came to an account\'s address; see the result."},{"name":"country","type":["null","string"],"default":null,"doc":"Country of the recipient\'s number, as on the result; null if the event came to an account\'s address."},{"name":"eventId","type":["null","string"],"default":null,"doc":"Identifies the event: a repeated callback has the same. Use it as the key if a load may be repeated. Never null in events that busgate writes."},{"name":"extra","type":["null","string"],"default":null,"doc":"JSON object as text: everything else that the gateway said, and values that do not fit their field."}]}',
  doubt: '{"type":"record","name":"Doubt","namespace":"io.busgate","doc":"A command that was perhaps sent, until the doubt is resolved. Internal: only busgate writes and reads it.","fields":[{"name":"topic","type":"string","doc":"Command topic that the record came from."},{"name":"partition","type":"int","doc":"Its partition."},{"name":"offset","type":"long","doc":"Its offset."},{"name":"timestamp","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"When it was appended, milliseconds since 1970."},{"name":"key","type":["null","bytes"],"default":null,"doc":"Its key."},{"name":"value","type":"bytes","doc":"Its value, unchanged: a SendCommand in the Confluent wire format."},{"name":"headers","type":{"type":"array","items":{"type":"record","name":"DoubtHeader","doc":"A header of the record; a name may occur several times.","fields":[{"name":"name","type":"string","doc":"Name of the header."},{"name":"value","type":"bytes","doc":"Its bytes."}]}},"default":[],"doc":"Its headers, in their order."},{"name":"account","type":"string","doc":"Gateway account that it was sent through."},{"name":"attempts","type":"int","doc":"POSTs made so far that may have reached the gateway, 1 or more."},{"name":"postedAt","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"Latest time at which the last of these POSTs can have begun, milliseconds since 1970."},{"name":"postedSince","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null,"doc":"Earliest time at which the first of these POSTs can have begun, by busgate\'s clock, milliseconds since 1970; null: unknown."},{"name":"cause","type":"string","doc":"Cause of the doubt, such as timeout, reset or taken_over."},{"name":"type","type":["null","string"],"default":null,"doc":"The command\'s type, as the gateway names it, in case its value cannot be read."},{"name":"correlationId","type":["null","string"],"default":null,"doc":"The command\'s correlationId, for the same case."},{"name":"tenant","type":["null","string"],"default":null,"doc":"The command\'s tenant, for the same case."},{"name":"campaign","type":["null","string"],"default":null,"doc":"The command\'s campaign, for the same case."},{"name":"omitted","type":["null","string"],"default":null,"doc":"Why the record\'s key and value are missing, so that the command can be polled for, but not sent again; null: they are here."}]}',
}

/** A message to one phone number, or a look-up of it. */
export interface SendCommand {
  /** Your id of the message, 1 to 9223372036854775807. Unique in its account for ever: to send again, use a new id. */
  id: bigint
  /** The recipient's number: 7 to 15 digits, international format, no plus sign. */
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
    | { 'io.busgate.Sealed': Sealed }
  /** Gateway account that sends it, as named in busgate's settings. */
  account: string
  /** The command is never sent after this instant (milliseconds since 1970, UTC). Null: only the maximum age applies. */
  deadline: number | null
  /** What to do in doubt, when it was perhaps sent. */
  delivery: SendCommandDelivery
  /** Your own callback address. Null: busgate's, if the type accepts one. */
  hook: string | null
  /** Your reference. Copied to results, and to status events if the callback address has room for it. */
  correlationId: string | null
  /** Your customer or department. Copied as correlationId is. */
  tenant: string | null
  /** Your campaign. Copied as correlationId is. */
  campaign: string | null
  /** Additional properties of the operation object, each value a JSON text. The names type, id, phone, hook, auth, data, __proto__ and those of the message's fields are refused, except fields that are objects (voice, the stages of a pipeline): if the message leaves one null, give the whole object here, otherwise only the fields to add. */
  extra: Record<string, string>
  /** The command waits until this instant (milliseconds since 1970, UTC), at most commands.horizonMs ahead; its age counts from then. One in the past means now. Null: it does not wait. */
  notBefore: number | null
}

/** An SMS (type sms). */
export interface Sms {
  /** Text of the SMS. */
  sms_message: string
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
  short_link: boolean | null
  /** Lifetime of the message, in seconds: 3600 to 259200. Null: the gateway uses 172800. */
  sms_lifetime: number | null
  /** Whether an unsubscribe link is added, if the tariff includes it. */
  unsubscribe_link: boolean | null
}

/** A Viber message (type viber). The gateway's specification leaves open which of message, image, link and signature a variant requires. */
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
  /** Lifetime of the message, in seconds. The gateway names neither bounds nor default. */
  viber_lifetime: number | null
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
  short_link: boolean | null
}

/** A slide of a Viber carousel. The gateway's specification leaves open which fields are required. */
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

/** A Viber message with an SMS to fall back to (type viber+sms). The gateway's specification leaves open which fields are required. */
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
  /** Lifetime of the message, in seconds as in other types: the gateway names neither unit nor bounds here. */
  viber_lifetime: number | null
  /** Text of the SMS. */
  sms_message: string | null
  /** Sender signature (alpha-name) of the SMS. */
  sms_signature: string | null
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
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
  /** Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
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
  /** Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
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
  /** Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800. */
  rcs_lifetime: number | null
  /** Whether links in the text are shortened and tracked, if the tariff includes it. */
  short_link: boolean | null
}

/** A slide of a Viber carousel. The gateway's specification leaves open which fields are required. */
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
  /** Lifetime of the message, in seconds: 60 or more. Null: the gateway uses 172800. */
  telegram_lifetime: number | null
}

/** A voice call that speaks a text (type voice). The gateway's specification leaves open which fields are required. */
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

/** A message of any type whose content only the worker can read. */
export interface Sealed {
  /** The gateway's type of the content, such as sms or viber+sms. */
  type: string
  /** The fields of that type's record in JSON, encrypted: a JWE in compact serialization (RFC 7516), alg ECDH-ES or dir, enc A256GCM. Its protected header has kid, and id, phone, account, type and, if set, hook of this command as text. */
  jwe: string
}

/** What to do in doubt, when the message was perhaps sent. DEFAULT: as configured for the type. AT_MOST_ONCE: never send again. AT_LEAST_ONCE: send again under the same id. No default on purpose: an unknown policy must fail. */
export type SendCommandDelivery = 'DEFAULT' | 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'

/** What became of a command record. Each record that can be read ends with exactly one final result; an IN_DOUBT result, which is not final, can come before it. An id that was written in two records has two final results. */
export interface SendResult {
  /** Id of the command. */
  id: bigint
  /** The gateway's type, for example sms or viber+sms. */
  type: string
  /** The gateway account of the command. */
  account: string
  /** What became of the command. */
  outcome: SendResultOutcome
  /** Whether no other result of this command record (commandTopic, commandPartition, commandOffset) follows. If an id was written twice, the later record ends as DUPLICATE, which is final for that record only. */
  final: boolean
  /** The gateway's identifier of the message. Null: it named none, as for call/otp and hlr, or its answer was lost; or the outcome is not SENT. */
  msgId: string | null
  /** Number of message parts billed. Null: the outcome is not SENT, the type is call/otp or hlr, or not known, as where a status proved that it was sent. */
  parts: number | null
  /** Why it was not sent, or is not known to be sent: ACCESS_DENIED, SENDER_INVALID, OPERATOR_UNSUPPORTED, TYPE_INVALID, THROTTLED, INSUFFICIENT_FUNDS, DUPLICATE_ID, VALIDATION, COUNTRY, PARTS, SEAL, DEADLINE, MAX_AGE, WITHDRAWN, RESPONSE_LOST, ATTEMPTS_EXHAUSTED or REJECTED (any other refusal). More may follow. Null: the outcome is SENT. */
  errorCode: string | null
  /** The gateway's text, or what is wrong with the command and in which field. Also says what was left out of this result to fit the topic. Null: the outcome is SENT, or DEADLINE or MAX_AGE ended it and no request was refused before. */
  error: string | null
  /** The one-time password of a call/otp, with its leading zeros. Null: another type, the outcome is not SENT, or results.otpCode keeps codes out of results. */
  code: string | null
  /** Fee of a call/otp, in the account's currency. Null: another type, or the outcome is not SENT. */
  price: number | null
  /** The answer to an hlr. Null: another type, the outcome is not SENT, or the answer has no valid phone: payload then holds it. */
  hlr: SendResultHlr | null
  /** JSON text with all other data of the gateway's answer, and with values that do not fit their field. Null: there is none, or results.otpCode keeps that of a call/otp out of results. */
  payload: string | null
  /** Number of requests that were answered for this command, or left it in doubt. Requests that were refused as a whole, throttled, or never reached the gateway are not counted. */
  attempts: number
  /** Topic of the command. */
  commandTopic: string
  /** Partition of the command. */
  commandPartition: number
  /** Offset of the command. */
  commandOffset: number
  /** When it was last POSTed to the gateway (milliseconds since 1970, UTC); of a command that was in doubt, the latest time at which that POST can have begun. Null: not POSTed, or ended by DEADLINE, MAX_AGE or WITHDRAWN. */
  sentAt: number | null
  /** When this result was decided (milliseconds since 1970, UTC). */
  completedAt: number
  /** The command's correlationId. */
  correlationId: string | null
  /** The command's tenant. */
  tenant: string | null
  /** The command's campaign. */
  campaign: string | null
  /** Whether the message had its own callback address. Unverified status events count only if this is false. Null: not known. False for call/otp and hlr, which have no status. */
  hooked: boolean | null
  /** When the command was appended to its topic: the timestamp of its record (milliseconds since 1970, UTC). Null: its record had none. */
  commandAt: number | null
  /** Country of the recipient's number by its prefix, two letters of ISO 3166. Null: the number belongs to no country's numbering plan, or the command could not be read. */
  country: string | null
}

/** What became of a command. SENT: the gateway accepted it. REJECTED: the gateway refused it. INVALID: not sent, the command violates the interface. EXPIRED: not sent, too late or withdrawn. DUPLICATE: this record was not sent, because its id was seen before; see the first record's result. IN_DOUBT: perhaps sent, a final result follows. UNRESOLVED: perhaps sent, nobody can tell. UNKNOWN: newer than the reader. */
export type SendResultOutcome = 'SENT' | 'REJECTED' | 'INVALID' | 'EXPIRED' | 'DUPLICATE' | 'IN_DOUBT' | 'UNRESOLVED' | 'UNKNOWN'

/** The answer to an hlr. Fields that the gateway leaves out are null. */
export interface SendResultHlr {
  /** The number that was looked up: digits only, international format. */
  phone: number
  /** Status of the look-up, as the gateway wrote it. */
  status: string | null
  /** Subscriber identity, usually 15 digits. */
  imsi: string | null
  /** Country and network code. Null if it is no number or begins with a zero; payload then holds it. */
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

/** A delivery status of a sent message. A message can have several events, out of order and repeated; a repeated one differs in receivedAt only. */
export interface StatusEvent {
  /** Id of the command. */
  id: bigint
  /** The gateway's identifier of the message. Null: the callback named none; of a poll, neither its answer nor the result did. */
  msgId: string | null
  /** The gateway account of the command. */
  account: string
  /** Channel or type, as the gateway wrote it, for example sms. */
  type: string
  /** Status, as the gateway wrote it, for example DELIVERED; empty if it wrote none. */
  status: string
  /** What the status means. */
  state: StatusEventState
  /** Whether the message stays in this state. */
  final: boolean
  /** Whether the message was delivered or read, as the gateway says. Null: it did not say. */
  success: boolean | null
  /** Reason of a refusal, as the gateway wrote it. Also says what was left out of this event to fit the topic. Null: the gateway gave none. */
  error: string | null
  /** Where the status came from. */
  source: StatusEventSource
  /** Whether the event came to this message's own address, or answers a poll for it. False: only the callback's body names the message. */
  verified: boolean
  /** When the status changed, as the gateway says (milliseconds since 1970, UTC). Null: it did not say, or not as an ISO 8601 date-time with an offset from UTC, which extra then holds. */
  updatedAt: number | null
  /** When busgate received it (milliseconds since 1970, UTC). */
  receivedAt: number
  /** Digit that the recipient of a voice call entered. Null: the gateway named none. */
  reply: string | null
  /** Duration of a voice call, in seconds. Null: the gateway named none. */
  duration: number | null
  /** Identifier of the request on the asynchronous interface. Null: the gateway named none, as for everything that busgate's worker sends: it uses the synchronous one. */
  requestId: string | null
  /** Replies of the recipient to the message. */
  replies: StatusEventReply[]
  /** The command's correlationId; null if the callback address did not carry it. */
  correlationId: string | null
  /** The command's tenant; null if the callback address did not carry it. */
  tenant: string | null
  /** The command's campaign; null if the callback address did not carry it. */
  campaign: string | null
  /** Type of the command, for example viber+sms; type is the channel that reported. Null: the event came to an account's address; see the result. */
  commandType: string | null
  /** Country of the recipient's number, as on the result; null if the event came to an account's address. */
  country: string | null
  /** Identifies the event: a repeated callback has the same. Use it as the key if a load may be repeated. Never null in events that busgate writes. */
  eventId: string | null
  /** JSON object as text: everything else that the gateway said, and values that do not fit their field. */
  extra: string | null
}

/** What the status means. In a callback, success decides; in the answer to a poll, the text does, or success if the text is empty or unknown. PENDING: on its way. DELIVERED: delivered, read or answered. FAILED: will not be delivered. UNKNOWN: inconclusive, or newer than the reader. */
export type StatusEventState = 'PENDING' | 'DELIVERED' | 'FAILED' | 'UNKNOWN'

/** Where a status came from. CALLBACK: the gateway called back. POLL: busgate polled. UNKNOWN: newer than the reader. */
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

/** A command that was perhaps sent, until the doubt is resolved. Internal: only busgate writes and reads it. */
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
  /** Its value, unchanged: a SendCommand in the Confluent wire format. */
  value: Buffer
  /** Its headers, in their order. */
  headers: DoubtHeader[]
  /** Gateway account that it was sent through. */
  account: string
  /** POSTs made so far that may have reached the gateway, 1 or more. */
  attempts: number
  /** Latest time at which the last of these POSTs can have begun, milliseconds since 1970. */
  postedAt: number
  /** Earliest time at which the first of these POSTs can have begun, by busgate's clock, milliseconds since 1970; null: unknown. */
  postedSince: number | null
  /** Cause of the doubt, such as timeout, reset or taken_over. */
  cause: string
  /** The command's type, as the gateway names it, in case its value cannot be read. */
  type: string | null
  /** The command's correlationId, for the same case. */
  correlationId: string | null
  /** The command's tenant, for the same case. */
  tenant: string | null
  /** The command's campaign, for the same case. */
  campaign: string | null
  /** Why the record's key and value are missing, so that the command can be polled for, but not sent again; null: they are here. */
  omitted: string | null
}

/** A header of the record; a name may occur several times. */
export interface DoubtHeader {
  /** Name of the header. */
  name: string
  /** Its bytes. */
  value: Buffer
}
