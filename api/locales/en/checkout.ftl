# Every page
skip = Skip to content
languages = Language
sandbox = Sandbox
sandbox-note = This is a test. No money moves.
amount-due = Amount to pay
steps = Steps
step-method = Method
step-details = Details
step-confirm = Confirm
page-title = { $page } – { $merchant }
secured = Payment handled by { $service }
time-left = Time left to pay: { $minutes } min
time-warning = Less than one minute left to pay.
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
choose-unsent = { $method } cannot be reached right now.
choose-unsent-text = Nothing was sent and nothing was charged.
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
kind-crypto = Crypto currency
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
error-phone-country = This is not a phone number of { $country }. Begin with +{ $dial }, or write it as you dial it there.
error-email = This does not look like an e-mail address. It has the form name@example.com.
error-choice = Please choose one from the list.
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
confirm-rate = Price
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
wait-held-text = Please do not pay again. { $merchant } has been notified and is checking it.
wait-doubt-title = We are checking with the provider
wait-doubt-text = We do not know yet whether your payment went through, and are asking. Please do not pay a second time.
wait-phone-title = Confirm on your phone
wait-phone-auto = A message from { $method } should appear on { $number }. Enter your PIN there to pay. It usually takes less than a minute.
wait-phone-manual = Open the payment request of { $method } on your phone and confirm it there.
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
wait-crypto-link = Open in a wallet
wait-keep = You can keep this page open; it is updated by itself.
wait-refresh = This page updates every 20 seconds.
wait-refresh-now = Check now
wait-refresh-stop = Stop updating
wait-refresh-stopped = This page no longer updates automatically.
wait-leave = Go back to { $merchant } now
wait-leave-text = Your payment goes on without this page.
row-amount = Amount
row-merchant = Merchant
row-method = Method
row-number = Number
row-reference = Reference
row-bank = Bank
row-account = Account number
row-name = Account holder
row-until = Valid until
crypto-address = Send to this address on
crypto-amount = Exactly this amount
crypto-left = Time left to send: { $minutes } min
crypto-warning = Less than one minute left to send.
crypto-late = The time to send is over. Do not send anything to this address any more.
crypto-qr-address = Address only
crypto-qr-link = Address and amount
crypto-exact = Send on the network { $chain } only. Another coin, another network or another amount may be lost.
crypto-exchange = Sending from an exchange? Many take their fee from the amount or send later. Make sure that { $amount } arrive on { $chain } before the time is over.
crypto-details = Details of the coin
crypto-contract = Contract of the token:
qr-label = QR code for this payment

# Result
result-success-title = Payment successful
result-success-text = { $merchant } has been told. Thank you!
result-failed-title = The payment did not work
result-cancelled-title = Payment cancelled
result-cancelled-text = You cancelled this payment. Nothing was taken from your account.
result-expired-title = The time to pay has run out
result-expired-text = Nothing was taken from your account. Ask { $merchant } for a new payment link if you still want to pay.
result-provider-says = The provider says: { $message }
leave-button = Back to { $merchant }
leave-explain = You will go back to { $host } in { $seconds } seconds.
leave-stays = The button takes you to { $host }.
leave-stay = Stay on this page

# Why a payment did not work, with what to do next
reason-insufficient_funds = There is not enough money in the account. Top it up, or pay in another way.
reason-payer_declined = The payment was not confirmed on the phone, or it was refused there. Nothing was taken from your account.
reason-payer_timeout = There was no confirmation in time. Keep your phone at hand and unlocked when you try again.
reason-payer_busy = Another payment is open on your phone. Finish it or wait for a few minutes, then try again.
reason-invalid_account = This number has no active account with this method. Check the number, or choose another method.
reason-limit_exceeded = This payment is above a limit of your account. Ask your provider, or pay in another way.
reason-amount_out_of_range = This method cannot take this amount. Choose another method.
reason-expired = The payment request ran out before it was confirmed. Nothing was taken from your account.
reason-not_permitted = Your provider does not allow this payment. Ask them, or pay in another way.
reason-merchant_funds = The merchant’s account cannot take this payment now. Please tell the merchant.
reason-provider_unavailable = The provider could not be reached. Nothing was taken from your account. Try again later, or with another method.
reason-misconfigured = This method is not set up correctly. Please tell the merchant, and choose another method.
reason-other = The provider did not accept the payment. Nothing was taken from your account. Choose another method, or ask your provider.

# Cancel
cancel-title = Cancel this payment?
cancel-text = You will not be able to pay it with this link any more, and { $merchant } will be told.
cancel-yes = Yes, cancel the payment
cancel-no = No, go on paying

# Notices after a step that could not be taken
notice-method = That method cannot take this payment right now. Please choose another one.
notice-stale = This page was out of date. Please choose again; nothing has been paid.
notice-price = The exchange rate has changed, and with it the amount. Please check it again; nothing has been paid.
notice-under-way = The payment has already been started, so it can no longer be cancelled here.

# Trouble
missing-title = There is no such payment
missing-text = This link does not lead to a payment. It may have been cut off when it was copied.
missing-advice = Open the link again from the shop or the message where you found it, or ask the merchant for a new one.
unavailable-title = We cannot show your payment right now
unavailable-text = This is on our side, and nothing is lost. Please try again in a minute.
unavailable-advice = If you have already confirmed the payment, do not pay again: it goes on without this page.
large-title = That was too much text
large-text = What was sent is larger than this page takes. Nothing has been paid.
large-advice = Go back and shorten what you wrote.
method-title = This address is not opened like that
method-text = Nothing has been paid. Open the payment page again with the button.
method-advice = If the button does not help, open the link from the shop once more.
wait-code-away-title = Passing your code on
wait-code-away-text = The provider is checking it. This takes a few seconds.
code-send = Send the code
code-hint = { $length } characters
code-wrong = That code was not accepted. Check it, and type it once more.
code-lost = The code may not have arrived. If nothing changes here, type it once more.
code-empty = Type the code that the provider sent you.
code-length = The code has { $length } characters.
code-used-up = All tries for the code are used up. We are waiting for the provider’s last word.
code-leave = Without the code the payment cannot go on.
notice-call-off = The provider has been asked to call the payment off. Until it confirms that, the payment may still go through.
