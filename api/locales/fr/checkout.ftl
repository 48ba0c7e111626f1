# Toutes les pages
skip = Aller au contenu
languages = Langue
sandbox = Bac à sable
sandbox-note = Ceci est un essai. Aucun argent ne circule.
amount-due = Montant à payer
steps = Étapes
step-method = Moyen
step-details = Détails
step-confirm = Confirmer
page-title = { $page } – { $merchant }
secured = Paiement assuré par { $service }
time-left = Temps restant pour payer : { $minutes } min
time-warning = Il reste moins d’une minute pour payer.
cancel-link = Annuler ce paiement
continue = Continuer
change = Modifier
optional = (facultatif)
choose-one = Veuillez choisir
try-again = Réessayer
another-method = Autre moyen de paiement
copy = Copier
copied = Copié
copy-address = Copier l’adresse
copy-amount = Copier le montant

# Choisir
choose-title = Comment souhaitez-vous payer ?
choose-country = Pays d’où vous payez
choose-country-only = Paiement depuis
choose-country-none = Choisissez un pays
choose-country-first = Voir les moyens
choose-country-change = Changer
choose-search = Trouver un moyen de paiement
choose-found = Moyens trouvés :
choose-empty = Il n’est pas possible de payer en ce moment.
choose-empty-text = Aucun des moyens de paiement proposés par { $merchant } ne peut accepter ce paiement actuellement. Réessayez dans quelques minutes.
choose-empty-country = Aucun moyen de paiement n’est disponible pour ce paiement dans ce pays actuellement ({ $country }). Choisissez un autre pays ou réessayez dans quelques minutes.
choose-unsent = { $method } est injoignable pour le moment.
choose-unsent-text = Rien n’a été envoyé et rien n’a été débité.
choose-unsent-next = Choisissez un autre moyen de paiement, ou réessayez le même dans un instant.
choose-attempts-left = { $left ->
    [one] Vous pouvez essayer encore une fois, avec le même moyen ou un autre.
   *[other] Vous pouvez essayer encore { $left } fois, avec le même moyen ou un autre.
}
kind-mobile-money = Mobile money
kind-card = Carte bancaire
kind-bank-transfer = Virement bancaire
kind-qr = Code QR
kind-ussd = Code à composer
kind-crypto = Cryptomonnaie
kind-wallet = Portefeuille
kind-test = Moyen d’essai

# Détails
details-title = Vos informations
details-wrong = Veuillez corriger ce qui est signalé ci-dessous.
change-method = le moyen de paiement
field-msisdn = Numéro mobile money
field-msisdn-test = Numéro de téléphone d’essai
field-msisdn-hint = Le numéro de votre compte : { $country } (+{ $dial })
field-msisdn-fixed = Ce paiement ne peut être fait que depuis ce numéro.
field-first_name = Prénom
field-last_name = Nom
field-email = Adresse e-mail
field-phone = Numéro de téléphone
field-address = Adresse
field-city = Ville
field-state = État ou région
field-country = Pays
field-zip = Code postal
error-required = { $field } : veuillez remplir ce champ.
error-phone = Cela ne ressemble pas à un numéro de téléphone. Vérifiez les chiffres.
error-phone-country = Ce numéro n’est pas de ce pays ({ $country }). Commencez par +{ $dial } ou écrivez-le comme vous le composez sur place.
error-email = Cela ne ressemble pas à une adresse e-mail. Elle a la forme nom@exemple.com.
error-choice = Veuillez choisir dans la liste.
error-refused = Le prestataire n’accepte pas cette saisie : { $message }
error-refused-plain = Le prestataire n’accepte pas cette saisie. Veuillez la corriger.
error-long = C’est trop long : { $most } caractères au plus.
test-title = Bac à sable :
test-hint = trois numéros décident de l’issue de l’essai.
test-success = réussit
test-pending = reste en attente
test-failed = échoue

# Confirmer
confirm-title = Vérifiez et confirmez
confirm-amount = Montant
confirm-rate = Prix
confirm-merchant = Vous payez
confirm-for = Pour
confirm-method = Avec
confirm-number = Numéro
confirm-country = Depuis
confirm-email = E-mail
confirm-pay = Payer { $amount }
confirm-back = Modifier les informations
confirm-back-method = Choisir un autre moyen
next-phone = Vous devrez ensuite confirmer sur votre téléphone.
next-provider = Vous terminerez ensuite sur la page du prestataire de paiement.
next-instructions = Vous verrez ensuite comment payer.
next-test = La passerelle d’essai répond aussitôt. Aucun argent ne circule.

# Attendre
wait-title = Nous attendons votre paiement
wait-text = Le prestataire a reçu votre paiement. Cette page affichera le résultat d’elle-même.
wait-starting-title = Envoi de votre paiement
wait-starting-text = Cela prend quelques secondes. Ne payez pas une seconde fois.
wait-held-title = Nous avons reçu de l’argent pour ce paiement
wait-held-text = Ne payez pas une seconde fois. { $merchant } a été prévenu et vérifie le paiement.
wait-doubt-title = Nous vérifions auprès du prestataire
wait-doubt-text = Nous ne savons pas encore si votre paiement est passé et posons la question. Ne payez pas une seconde fois.
wait-phone-title = Confirmez sur votre téléphone
wait-phone-auto = Un message de { $method } devrait apparaître sur le { $number }. Saisissez-y votre code secret pour payer. Cela prend en général moins d’une minute.
wait-phone-manual = Ouvrez la demande de paiement de { $method } sur votre téléphone et confirmez-la.
wait-redirect-title = Continuez chez le prestataire
wait-redirect-text = Vous payez sur la page du prestataire, puis revenez ici.
wait-redirect-link = Continuer vers { $host }
wait-code-title = Saisissez le code
wait-code-text = Le prestataire vous a envoyé un code.
wait-dial-title = Composez ce code
wait-dial-text = Composez-le sur le téléphone avec lequel vous payez, puis suivez le menu.
wait-dial-link = Composer { $code }
wait-transfer-title = Faites ce virement
wait-transfer-text = Envoyez le montant exact avec la référence, sinon la banque ne pourra pas le reconnaître.
wait-qr-title = Scannez pour payer
wait-qr-text = Ouvrez l’application de votre banque et scannez ce code.
wait-crypto-title = Envoyez depuis votre portefeuille
wait-crypto-text = Envoyez exactement ce montant à cette adresse.
wait-crypto-link = Ouvrir dans un portefeuille
wait-keep = Vous pouvez garder cette page ouverte ; elle se met à jour d’elle-même.
wait-refresh = Cette page s’actualise toutes les 20 secondes.
wait-refresh-now = Vérifier maintenant
wait-refresh-stop = Ne plus actualiser
wait-refresh-stopped = Cette page ne s’actualise plus automatiquement.
wait-leave = Retourner maintenant chez { $merchant }
wait-leave-text = Votre paiement continue sans cette page.
row-amount = Montant
row-merchant = Marchand
row-method = Moyen
row-number = Numéro
row-reference = Référence
row-bank = Banque
row-account = Numéro de compte
row-name = Titulaire du compte
row-until = Valable jusqu’à
crypto-address = Envoyez à cette adresse sur
crypto-amount = Exactement ce montant
crypto-left = Temps restant pour envoyer : { $minutes } min
crypto-warning = Il reste moins d’une minute pour envoyer.
crypto-late = Le délai d’envoi est écoulé. N’envoyez plus rien à cette adresse.
crypto-qr-address = Adresse seule
crypto-qr-link = Adresse et montant
crypto-exact = Envoyez uniquement sur le réseau { $chain }. Une autre monnaie, un autre réseau ou un autre montant peut être perdu.
crypto-exchange = Vous envoyez depuis une plateforme d’échange ? Beaucoup retiennent leurs frais sur le montant ou envoient plus tard. Assurez-vous que { $amount } arrivent sur { $chain } avant la fin du délai.
crypto-details = Détails de la monnaie
crypto-contract = Contrat du jeton :
qr-label = Code QR de ce paiement

# Résultat
result-success-title = Paiement réussi
result-success-text = { $merchant } en a été informé. Merci !
result-failed-title = Le paiement n’a pas abouti
result-cancelled-title = Paiement annulé
result-cancelled-text = Vous avez annulé ce paiement. Rien n’a été prélevé sur votre compte.
result-expired-title = Le temps pour payer est écoulé
result-expired-text = Rien n’a été prélevé sur votre compte. Demandez un nouveau lien de paiement à { $merchant } si vous souhaitez toujours payer.
result-provider-says = Message du prestataire : { $message }
leave-button = Retour chez { $merchant }
leave-explain = Vous retournerez sur { $host } dans { $seconds } secondes.
leave-stays = Le bouton vous ramène sur { $host }.
leave-stay = Rester sur cette page

# Pourquoi un paiement n’a pas abouti, et que faire ensuite
reason-insufficient_funds = Il n’y a pas assez d’argent sur le compte. Approvisionnez-le ou payez autrement.
reason-payer_declined = Le paiement n’a pas été confirmé sur le téléphone, ou y a été refusé. Rien n’a été prélevé sur votre compte.
reason-payer_timeout = La confirmation n’est pas arrivée à temps. Gardez votre téléphone déverrouillé à portée de main pour réessayer.
reason-payer_busy = Un autre paiement est ouvert sur votre téléphone. Terminez-le ou attendez quelques minutes, puis réessayez.
reason-invalid_account = Ce numéro n’a pas de compte actif pour ce moyen. Vérifiez le numéro ou choisissez un autre moyen.
reason-limit_exceeded = Ce paiement dépasse un plafond de votre compte. Renseignez-vous auprès de votre prestataire ou payez autrement.
reason-amount_out_of_range = Ce moyen n’accepte pas ce montant. Choisissez un autre moyen.
reason-expired = La demande de paiement a expiré avant d’être confirmée. Rien n’a été prélevé sur votre compte.
reason-not_permitted = Votre prestataire n’autorise pas ce paiement. Renseignez-vous auprès de lui ou payez autrement.
reason-merchant_funds = Le compte du marchand ne peut pas recevoir ce paiement actuellement. Veuillez en informer le marchand.
reason-provider_unavailable = Le prestataire n’a pas pu être joint. Rien n’a été prélevé sur votre compte. Réessayez plus tard ou avec un autre moyen.
reason-misconfigured = Ce moyen n’est pas correctement configuré. Veuillez en informer le marchand et choisir un autre moyen.
reason-other = Le prestataire n’a pas accepté le paiement. Rien n’a été prélevé sur votre compte. Choisissez un autre moyen ou renseignez-vous auprès de lui.

# Annuler
cancel-title = Annuler ce paiement ?
cancel-text = Vous ne pourrez plus payer avec ce lien, et { $merchant } en sera informé.
cancel-yes = Oui, annuler le paiement
cancel-no = Non, continuer à payer

# Avis après une étape impossible
notice-method = Ce moyen ne peut pas accepter ce paiement en ce moment. Veuillez en choisir un autre.
notice-stale = Cette page n’était plus à jour. Veuillez choisir à nouveau ; rien n’a été payé.
notice-price = Le taux de change a changé, et le montant avec lui. Veuillez le vérifier ; rien n’a été payé.
notice-under-way = Le paiement a déjà commencé ; il ne peut plus être annulé ici.

# Ennuis
missing-title = Ce paiement n’existe pas
missing-text = Ce lien ne mène à aucun paiement. Il a peut-être été tronqué lors de la copie.
missing-advice = Ouvrez à nouveau le lien depuis la boutique ou le message où vous l’avez trouvé, ou demandez-en un nouveau au marchand.
unavailable-title = Impossible d’afficher votre paiement pour l’instant
unavailable-text = Le problème vient de chez nous et rien n’est perdu. Veuillez réessayer dans une minute.
unavailable-advice = Si vous avez déjà confirmé le paiement, ne payez pas à nouveau : il continue sans cette page.
large-title = Le texte envoyé est trop long
large-text = L’envoi est plus grand que ce que cette page accepte. Rien n’a été payé.
large-advice = Revenez en arrière et raccourcissez ce que vous avez écrit.
method-title = Cette adresse ne s’ouvre pas ainsi
method-text = Rien n’a été payé. Rouvrez la page de paiement avec le bouton.
method-advice = Si le bouton n’aide pas, rouvrez le lien depuis la boutique.
wait-code-away-title = Transmission de votre code
wait-code-away-text = Le prestataire le vérifie. Cela prend quelques secondes.
code-send = Envoyer le code
code-hint = { $length } caractères
code-wrong = Ce code n’a pas été accepté. Vérifiez-le et saisissez-le à nouveau.
code-lost = Le code n’est peut-être pas arrivé. Si rien ne change ici, saisissez-le à nouveau.
code-empty = Saisissez le code que le prestataire vous a envoyé.
code-length = Le code comporte { $length } caractères.
code-used-up = Tous les essais pour le code sont épuisés. Nous attendons le dernier mot du prestataire.
code-leave = Sans le code, le paiement ne peut pas continuer.
notice-call-off = Le prestataire a été prié d’annuler le paiement. Tant qu’il ne l’a pas confirmé, le paiement peut encore aboutir.
