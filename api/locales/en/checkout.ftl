# Every page
skip = Skip to content
languages = Language
sandbox = Sandbox
sandbox-note = This is a test. No money moves.
amount-paid = Amount paid
amount-converted = { $amount } at { $rate }
amount-due = Amount to pay
steps = Steps
step-method = Method
step-details = Details
step-confirm = Confirm
page-title = { $page } – { $merchant }
secured = Payment handled by { $service }
time-left = Time left to pay:
time-days-word = days
time-warning = Less than one minute left to pay.
support = Questions? Contact { $merchant }:
cancel-link = Cancel this payment
continue = Continue
change = Change
optional = (optional)
choose-one = Please choose
try-again = Try again
another-method = Another method
copy = Copy
copied = Copied
copy-address = Copy address
copy-amount = Copy amount

# Choose
choose-title = How would you like to pay?
choose-country = Country you pay from
choose-country-only = Paying from
choose-country-none = Choose a country
choose-country-first = Show methods
choose-country-change = Change
choose-search = Find a payment method
choose-found = Methods found:
choose-empty = There is no way to pay this right now.
choose-empty-text = None of the payment methods that { $merchant } offers can take this payment at the moment. Try again in a few minutes.
choose-empty-country = No payment method is available in { $country } for this payment at the moment. Choose another country, or try again in a few minutes.
choose-closed = { $merchant } is not taking payments at the moment. Nothing can be paid here until that changes: please contact { $merchant }.
choose-unsent = { $method } cannot be reached right now.
choose-unsent-text = The payment could not be sent.
choose-unsent-next = Choose another way to pay, or try the same one again in a moment.
choose-attempts-left = { $left ->
    [one] You can try once more, with the same method or another one.
   *[other] You can try { $left } more times, with the same method or another one.
}
kind-mobile-money = Mobile money
kind-card = Bank card
kind-bank-transfer = Bank transfer
kind-qr = QR code
kind-ussd = Dial a code
kind-crypto = Cryptocurrency
kind-wallet = Wallet
kind-test = Test method

# Details
details-title = Your details
details-wrong = Please correct what is marked below.
change-method = the payment method
field-msisdn = Mobile money number
field-msisdn-test = Test phone number
field-msisdn-hint = The number of your wallet in { $country } (+{ $dial })
field-msisdn-fixed = This payment can only be made from this number.
field-msisdn-known = Leave this empty to use { $number }, or type another number.
field-first_name = First name
field-last_name = Last name
field-email = E-mail address
field-phone = Phone number
field-address = Address
field-city = Town or city
field-state = State or region
field-country = Country
field-zip = Postal code
error-required = { $field }: please fill this in.
error-phone = This does not look like a phone number. Check the digits.
error-phone-benin = Numbers in Benin have ten digits since 30 November 2024. Write 01 before your old number, for example 01 97 80 80 80.
error-phone-country = This is not a phone number of { $country }. Begin with +{ $dial }, or write it as you dial it there.
error-email = This does not look like an e-mail address. It has the form name@example.com.
error-choice = Please choose one from the list.
error-format = This does not have the form that is expected. Please check it.
error-refused = The provider does not accept this: { $message }
error-refused-plain = The provider does not accept this. Please correct it.
error-long = This is too long: at most { $most } characters.
test-title = Sandbox:
test-hint = three numbers decide how the test ends.
test-success = succeeds
test-pending = stays pending
test-failed = fails

# Confirm
confirm-title = Check and confirm
confirm-amount = Amount
confirm-merchant = You pay
confirm-for = For
confirm-method = With
confirm-number = Number
confirm-country = From
confirm-email = E-mail
confirm-pay = Pay { $amount }
confirm-back = Change the details
confirm-back-method = Choose another method
next-phone = You will then be asked to confirm on your phone.
next-provider = You will then finish on the page of the payment provider.
next-instructions = You will then see how to pay.
next-test = The test gateway answers at once. No money moves.

# Wait
wait-title = We are waiting for your payment
wait-text = The provider has your payment. This page shows the result by itself.
wait-starting-title = Sending your payment
wait-starting-text = This takes a few seconds. Please do not pay a second time.
wait-held-title = We have received money for this payment
wait-doubt-title = We are checking with the provider
wait-doubt-text = We do not know yet whether your payment went through, and are asking. Please do not pay a second time.
wait-phone-title = Confirm on your phone
wait-phone-auto = A message from { $method } should appear on { $number }. Enter your PIN there to pay.
wait-phone-manual = Open the payment request of { $method } on your phone and confirm it there.
wait-unusable-title = The provider’s page cannot be opened
wait-unusable-text = Please do not pay again: we are checking whether this attempt has ended.
wait-redirect-title = Continue with the provider
wait-redirect-text = You pay on the page of the provider, and come back here afterwards.
wait-redirect-link = Continue to { $host }
wait-code-title = Enter the code
wait-code-text = The provider has sent you a code.
wait-dial-title = Dial this code
wait-dial-text = Dial it on the phone that you pay with, and follow the menu.
wait-dial-link = Dial { $code }
wait-transfer-title = Make this transfer
wait-transfer-text = Send the exact amount with the reference, or the bank cannot match it.
wait-qr-title = Scan to pay
wait-qr-text = Open your bank’s app and scan this code.
wait-crypto-title = Send from your wallet
wait-crypto-text = Send exactly this amount to this address.
wait-late-title = The time to send is over
wait-late-text = Do not send anything any more. We keep checking whether your payment arrived before the end.
wait-crypto-link = Open in a wallet
time-usual-minute = It usually takes less than a minute.
time-usual = It usually takes about { $minutes } minutes.
time-longer = This is taking longer than usual. Your payment is still in progress: please do not pay a second time.
time-not-seen = We have not seen your payment yet. If you have sent it already, please wait and do not send it again.
time-stuck = This payment method cannot cancel an attempt that has started, so you cannot pay another way here yet. We keep checking. If nothing changes, contact { $merchant } and give the reference { $reference }.
wake-title = No message?
wake-phone = Unlock your phone and check that it has network. The request may also wait in the menu or the app of { $method }.
wake-code = The code can come late. Check that your phone has network, and look into your messages.
wake-page = Open the provider’s page again with the button above.
out-no-message = I got no message
out-other-way = Pay another way
out-cancels = We ask the provider to cancel this attempt first, so that you cannot pay twice.
out-ends = The provider cannot cancel this attempt; it ends in about { $minutes } min. Then we check once more, and you can pay another way.
unusable-page = The page of the provider cannot be opened, so you were not sent there.
given-up-title = We are ending this attempt
given-up-cancels = We have asked the provider to cancel it. As soon as that is confirmed you can pay another way. Please do not confirm the old request any more.
given-up-ends = It ends in about { $minutes } min. Then we check once more, and you can pay another way. Please do not confirm the old request any more.
calling-off-title = We are cancelling this payment
calling-off-cancels = We have asked the provider to cancel it. Please do not pay or confirm anything any more. Until the provider confirms the cancellation, the payment may still go through.
calling-off-ends = The provider cannot cancel this attempt; it ends in about { $minutes } min. Please do not pay or confirm anything any more. Until then the payment may still go through; then we check once more.
wait-keep = You can keep this page open; it is updated by itself.
wait-refresh = This page updates every 20 seconds.
wait-refresh-now = Check now
wait-refresh-stop = Stop updating
wait-refresh-stopped = This page no longer updates automatically.
wait-leave = Go back to { $merchant } now
wait-leave-text = Your payment goes on without this page.
wait-leave-ending = The cancellation continues without this page.
row-amount = Amount
row-paid = Amount paid
row-asked = Order amount
row-rate = Exchange rate
row-markup = Mark-up, part of the rate
row-for = For
row-date = Date
row-merchant = Merchant
row-method = Method
row-number = Number
row-reference = Reference
row-transfer = Amount to transfer
row-fee = Provider’s fee, included
row-bank = Bank
row-account = Account number
row-name = Account holder
row-until = Valid until
crypto-address = Send to this address on
crypto-amount = Exactly this amount
crypto-left = Time left to send:
crypto-warning = Less than one minute left to send.
crypto-qr-address = Address only
crypto-qr-link = Address and amount
crypto-exact = Send on the network { $chain } only. Another coin, another network or another amount may be lost.
crypto-exchange = Sending from an exchange? Many take their fee from the amount or send later. Make sure that { $amount } arrive on { $chain } before the time is over.
crypto-details = Details of the coin
crypto-contract = Contract of the token:
qr-label = QR code for this payment

# What is certain about money. Only money-nothing says that nothing moved.
money-nothing = Nothing was taken from your account.
money-part = Part of it arrived: { $received } of { $asked }. Please do not pay again. Contact { $merchant } and give the reference.
money-all = We have received { $received }. Please do not pay again. Contact { $merchant } and give the reference.
money-unknown = It is not certain yet whether money was taken. Please do not pay again before { $merchant } has checked the payment with its reference.
row-received = Received
result-expired-held = This payment can no longer be paid.

# Result
result-success-title = Payment successful
result-success-text = Your payment to { $merchant } was received. Thank you!
result-review-title = This payment is being reviewed
case-paid-twice = We have received more than one payment for this order. Please do not pay again: { $merchant } has been informed and will return the extra payment.
case-surplus = We have received more than was asked. Please do not pay again: { $merchant } has been informed and will return the difference.
case-contradicted = After your payment the provider has reported something else about it. Please do not pay again: { $merchant } has been informed and will clear it up.
case-review = This payment is being reviewed. Please do not pay again: { $merchant } has been informed.
result-failed-title = The payment did not work
result-cancelled-title = Payment cancelled
result-cancelled-text = This payment was cancelled.
result-expired-title = The time to pay has run out
result-expired-text = Ask { $merchant } for a new payment link if you still want to pay.
result-provider-says = The provider says: { $message }
leave-button = Back to { $merchant }
leave-explain = You will go back to { $host } in { $seconds } seconds.
leave-stays = The button takes you to { $host }.
leave-stay = Stay on this page

# Why a payment did not work, with what to do next
reason-insufficient_funds = There is not enough money in the account. Top it up, or pay in another way.
reason-payer_declined = The payment was not confirmed on the phone, or it was refused there.
reason-payer_timeout = There was no confirmation in time. Keep your phone at hand and unlocked when you try again.
reason-payer_busy = Another payment is open on your phone. Finish it or wait for a few minutes, then try again.
reason-invalid_account = This number has no active account with this method. Check the number, or choose another method.
reason-limit_exceeded = This payment is above a limit of your account. Ask your provider, or pay in another way.
reason-amount_out_of_range = This method cannot take this amount. Choose another method.
reason-expired = The payment request ran out before it was confirmed.
reason-not_permitted = Your provider does not allow this payment. Ask them, or pay in another way.
reason-merchant_funds = The merchant’s account cannot take this payment now. Please tell the merchant.
reason-provider_unavailable = The provider could not be reached. Try again later, or with another method.
reason-misconfigured = This method is not set up correctly. Please tell the merchant, and choose another method.
reason-other = The provider did not accept the payment. Choose another method, or ask your provider.

# Receipt
receipt-title = Receipt
receipt-note = Keep this page as your receipt. { $merchant } has received your payment.

# Cancel
cancel-title = Cancel this payment?
cancel-text = You will not be able to pay { $merchant } with this link any more.
cancel-yes = Yes, cancel the payment
cancel-no = No, go on paying

# Notices after a step that could not be taken
notice-method = That method cannot take this payment right now. Please choose another one.
notice-stale = This page was out of date. Please choose again.
notice-price = The exchange rate has changed, and with it the amount. Please check it again.
notice-under-way = The payment has already been started, so it can no longer be cancelled here.

# Trouble
missing-title = There is no such payment
missing-text = This link does not lead to a payment. It may have been cut off when it was copied.
missing-advice = Open the link again from the shop or the message where you found it, or ask the merchant for a new one.
unavailable-title = We cannot show your payment right now
unavailable-text = This is on our side, and nothing is lost. Please try again in a minute.
unavailable-advice = If you have already confirmed the payment, do not pay again: it goes on without this page.
large-title = That was too much text
large-text = What was sent is larger than this page accepts, and was not used.
large-advice = Go back and shorten what you wrote.
nowhere-title = There is no page here
nowhere-text = The address may have been cut off when it was copied, or it is no longer in use.
nowhere-advice = If you want to pay, open the payment link again from the shop or the message where you found it.
front-title = Payments
front-text = This server handles payments for merchants. If you want to pay, open the payment link that the shop gave you.
front-developers = Developers:
front-docs = API documentation
method-title = This address is not opened like that
method-text = Open the payment page again with the button.
method-advice = If the button does not help, open the link from the shop once more.
too-many-title = Too many attempts
too-many-text = To protect phone numbers from unwanted messages, we limit how often a payment can be started. We did not send this request to the provider.
too-many-advice = { $minutes ->
    [one] Try again in a minute. A payment that you already approved goes on.
   *[other] Try again in { $minutes } minutes. A payment that you already approved goes on.
}
closed-title = Payments are closed for now
closed-text = This merchant is not taking payments at the moment, so we started nothing.
closed-advice = If you already approved a payment, do not pay again: we keep checking it with the provider. Please contact the merchant.
paused-title = Payments are paused for a moment
paused-text = We cannot start a payment right now. Nothing was taken by opening this page.
paused-advice = Please try again in a few minutes. If you have already approved this payment, do not pay again: we are checking it with the provider.
wait-code-away-title = Passing your code on
wait-code-away-text = The provider is checking it. This takes a few seconds.
code-send = Send the code
code-letters = My code has letters
code-hint = { $length } characters
code-wrong = That code was not accepted. Check it, and type it once more.
code-lost = The code may not have arrived. If nothing changes here, type it once more.
code-empty = Type the code that the provider sent you.
code-length = The code has { $length } characters.
code-used-up = All tries for the code are used up. We are waiting for the provider’s last word.
code-leave = Without the code the payment cannot go on.
